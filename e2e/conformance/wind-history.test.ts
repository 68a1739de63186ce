// The last hour of wind, over real sockets: who is answered, and that the answer and the stream fit each other.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestServer, type TestServer, testConfig } from '../../server/testing.ts'
import { httpVersions, type Mode, modes } from '../../server/wire/modes.ts'
import { type Anemogram, readAnemogram } from '../../server/wire/wind/anemogram.ts'
import type { Strip } from '../../server/wire/wind/strip.ts'
import { openClient } from '../fleet/client.ts'
import { connectHttp, textOf } from '../fleet/http.ts'
import { redeem } from './foreign-server.ts'
import { rowsOf } from './protocol-text.ts'

const path = '/api/wind/history'
const [mode] = modes as readonly [Mode, ...Mode[]]

let server: TestServer
let guest: string
before(async () => {
  server = await startTestServer({
    access: 'invited',
    sensor: { ...testConfig.sensor, source: 'simulated', rateHz: 20 },
  })
  guest = await redeem(
    server.origin['2'],
    server.ca,
    await server.invite({ channels: ['main'], may: 'read' }),
  )
})
after(() => server.close())

async function ask(version: '2' | '1.1', cookie?: string) {
  const http = connectHttp(version, server.origin[version], server.ca, cookie)
  const { status, headers, body } = await http.ask({ path })
  const answer: unknown = JSON.parse(await textOf(body))
  http.close()
  return { status, headers, answer }
}

for (const version of httpVersions)
  test(`HTTP/${version}: a guest of any page is answered, anew each time, and nobody else`, async () => {
    const { status, headers, answer } = await ask(version, guest)
    assert.equal(status, 200)
    assert.match(String(headers['content-type']), /^application\/json/)
    assert.equal(headers['cache-control'], 'no-store')
    readAnemogram(answer)
    const uninvited = await ask(version)
    assert.equal(uninvited.status, 401)
    assert.equal((uninvited.answer as { code: string }).code, 'no-session')
  })

test('what the stream brought is in an answer that is asked for then, up to the seq that it names', async (t) => {
  const query = new URLSearchParams({ window: 'w1', channels: 'wind' })
  const client = openClient({
    mode,
    origin: server.origin[mode.http],
    ca: server.ca,
    cookie: guest,
    query,
  })
  t.after(() => client.close())
  const readings: number[] = []
  while (readings.length < 10) {
    const { message } = await client.next('message')
    if (message.kind === 'reading') readings.push(message.seq)
  }
  const { seq, trace } = readAnemogram((await ask('2', guest)).answer)
  assert.ok(seq >= Number(readings.at(-1)))
  const counted = trace.reduce((sum, { count }) => sum + count, 0)
  // The sensor's own state is a message too, and the simulator's faults are no readings here.
  assert.ok(counted >= 10 && counted <= seq, `${counted} readings up to ${seq}`)
})

test('every field of the answer is in PROTOCOL.md, and no other', () => {
  const fields: Record<keyof Anemogram | keyof Strip, true> = {
    seq: true,
    faultAt: true,
    seconds: true,
    full: true,
    after: true,
    count: true,
    faster: true,
    below: true,
    above: true,
    turn: true,
    anew: true,
  }
  const listed = rowsOf('The wind of before').flatMap(([names = '']) => names.split(' '))
  assert.deepEqual(
    listed.filter((name) => !/^(field|column|-+)$/.test(name)).sort(),
    Object.keys(fields).sort(),
  )
})
