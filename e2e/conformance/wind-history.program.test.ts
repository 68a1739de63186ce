// The last hour of wind: access, and agreement of response and stream.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { readSnapshot } from '../../app/shared/wind-history.ts'
import { startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import { httpVersions, type Mode, modes } from '../../protocol/modes.ts'
import { connectHttp, redeem, textOf } from '../clients/http-client.ts'
import { openClient } from './contract-client.ts'

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
  test(`HTTP/${version}: a guest of any page gets an uncached response; others are refused`, async () => {
    const { status, headers, answer } = await ask(version, guest)
    assert.equal(status, 200)
    assert.match(String(headers['content-type']), /^application\/json/)
    assert.equal(headers['cache-control'], 'no-store')
    readSnapshot(answer)
    const uninvited = await ask(version)
    assert.equal(uninvited.status, 401)
    assert.equal((uninvited.answer as { code: string }).code, 'no-session')
  })

for (const version of httpVersions)
  test(`HTTP/${version}: the response is compressed where the client accepts gzip`, async () => {
    const http = connectHttp(version, server.origin[version], server.ca, guest)
    for (const [accepted, coding] of [
      ['gzip, deflate, br, zstd', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
      ['*;q=0, gzip;q=0.1', 'gzip'],
      ['br', undefined],
      ['identity', undefined],
      ['gzip;q=0.5, identity;q=0.9', undefined],
      ['gzip;q=0', undefined],
    ] as const) {
      const { status, headers, body } = await http.ask({ path, headers: { 'accept-encoding': accepted } })
      assert.deepEqual([status, headers['content-encoding']], [200, coding], accepted)
      assert.match(String(headers.vary), /\bAccept-Encoding\b/)
      assert.match(String(headers['content-type']), /^application\/json/)
      const bytes = Buffer.concat(await body.toArray())
      assert.equal(headers['content-length'], String(bytes.length))
      readSnapshot(JSON.parse(String(coding ? gunzipSync(bytes) : bytes)))
    }
    http.close()
  })

test('the history contains every reading of the stream up to the seq that it names', async (t) => {
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
  const { seq, entries } = readSnapshot((await ask('2', guest)).answer)
  assert.ok(seq >= Number(readings.at(-1)))
  const counted = entries.reduce((sum, { count }) => sum + count, 0)
  // Sensor states have seqs too; faults are not readings.
  assert.ok(counted >= 10 && counted <= seq, `${counted} readings up to ${seq}`)
})
