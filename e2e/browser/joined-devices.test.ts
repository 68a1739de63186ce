// Instructions and answers over real HTTP, with devices that are correct, wrong, late or gone.

import assert from 'node:assert/strict'
import https from 'node:https'
import { before, type TestContext, test } from 'node:test'
import type { Timers } from '../../client/wire.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { type CertificateFiles, certificateIn } from '../lab/server-process.ts'
import { agentOf, DeviceListener } from './joined-devices.ts'
import { receiverFunctions } from './typing.ts'

const folder = temporaryFolder()
let certificate: CertificateFiles
before(async () => {
  certificate = await certificateIn(folder)
})

/** Manual time; a task runs when the test says so. */
function handTimers() {
  let nowMs = 0
  let tasks: { readonly at: number; readonly run: () => void }[] = []
  const timers: Timers = {
    now: () => nowMs,
    later(run, delayMs) {
      const task = { at: nowMs + delayMs, run }
      tasks.push(task)
      return () => {
        tasks = tasks.filter((other) => other !== task)
      }
    },
  }
  function pass(ms: number): void {
    nowMs += ms
    const due = tasks.filter(({ at }) => at <= nowMs)
    tasks = tasks.filter(({ at }) => at > nowMs)
    for (const { run } of due) run()
  }
  return { timers, pass }
}

const phone =
  'Mozilla/5.0 (Linux; Android 16; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36'

async function openListener(t: TestContext, expected = 1) {
  const { timers, pass } = handTimers()
  const { cert, key } = certificate
  const place = { host: 'localhost', listen: 'localhost', port: 0 }
  const listener = await DeviceListener.start({ ...place, cert, key, expected, timers })
  const http = connectHttp('1.1', listener.origin, cert)
  t.after(async () => {
    const ended = listener.end('ended')
    pass(60_000)
    await ended
    http.close()
  })

  async function ask(method: string, path: string, body?: unknown, type = 'application/json') {
    const headers = { 'user-agent': phone, ...(body !== undefined && { 'content-type': type }) }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await http.ask({ method, path, headers, body: text })
    const said = await textOf(answer.body)
    return {
      status: answer.status,
      headers: answer.headers,
      said: said?.startsWith('{') ? JSON.parse(said) : said,
    }
  }

  const fetchNext = (device: string, seen: number, isHidden = false, hides = 0) =>
    ask(
      'GET',
      `/lab/instructions?${new URLSearchParams({ device, seen: String(seen), hides: String(hides), isHidden: String(isHidden) })}`,
    )
  const answer = (device: string, given: object) =>
    ask('POST', `/lab/answers?device=${device}`, { hides: 0, isHidden: false, ...given })
  return { listener, pass, ask, fetchNext, answer }
}

type Opened = Awaited<ReturnType<typeof openListener>>

/** Joins one device and begins. */
async function begin(opened: Opened) {
  const { listener, ask } = opened
  const { said } = await ask('POST', '/lab/devices', {})
  const [device] = await listener.gather(AbortSignal.timeout(5000), () => undefined)
  assert.ok(device)
  return { id: said.device as string, device, ...(await serving(opened, said.device)) }
}

/** A page that answers each instruction as `reply` says, until it is stopped. */
async function serving({ fetchNext, answer }: Opened, id: string) {
  let seen = 0
  /** Fetches until there is an instruction. */
  async function instruction() {
    for (let tries = 0; tries < 20; tries += 1) {
      const { said } = await fetchNext(id, seen)
      seen = said.seen
      if (said.order) return said.order
    }
    throw new Error('No instruction came.')
  }
  async function replying(result: unknown, visible: object = {}) {
    const order = await instruction()
    await answer(id, { number: order.number, result, ...visible })
    return order
  }
  return { instruction, replying }
}

const page = 'https://localhost:1/?channel=x&record='

test('a device joins, opens a page, runs a function and returns its result', async (t) => {
  const opened = await openListener(t)
  const { device, replying } = await begin(opened)
  assert.deepEqual([device.name, device.agent], ['device 1', 'Chrome 156 on Android'])

  const [order] = await Promise.all([replying(undefined), device.open(page)])
  assert.deepEqual([order.what, order.path], ['open', '/?channel=x&record='])
  const counts = { sent: 0, received: 7 }
  const [run, found] = await Promise.all([replying(counts), device.run(receiverFunctions.countStamps)])
  assert.deepEqual([run.what, run.name, run.args], ['run', 'countStamps', []])
  assert.deepEqual(found, counts)
  assert.equal(device.missed, null)
})

test('several windows of a device are frames of its page; opening the first begins a turn for all', async (t) => {
  const opened = await openListener(t)
  const { device, replying } = await begin(opened)
  const [first, second] = device.frames(2)
  assert.ok(first && second)
  const framed = async (asked: Promise<unknown>, result?: unknown, visible?: object) => {
    const [{ frame }] = await Promise.all([replying(result, visible), asked])
    return frame
  }
  assert.deepEqual([await framed(first.open(page)), await framed(second.open(page))], [0, 1])
  const count = { sent: 0, received: 7 }
  assert.equal(await framed(second.run(receiverFunctions.countStamps), count, { hides: 1 }), 1)
  assert.equal(device.missed, 'was hidden')
  // Without an instruction.
  await second.open(page)
  assert.equal(await first.run(receiverFunctions.isLinked), true)
  assert.equal(device.missed, 'was hidden')
  assert.equal(await framed(first.open(page), undefined, { hides: 1 }), 0)
  assert.equal(device.missed, null)
})

test("the lab's words appear on every device, including the end", async (t) => {
  const opened = await openListener(t)
  const { id } = await begin(opened)
  opened.listener.say('Measuring turn 3 of 12: keep this window in front')
  const { said } = await opened.fetchNext(id, 0)
  assert.deepEqual(said.status, {
    phase: 'measuring',
    words: 'Measuring turn 3 of 12: keep this window in front',
  })
  const [told] = await Promise.all([opened.fetchNext(id, said.seen), opened.listener.end('done')])
  assert.deepEqual(told.said.status, { phase: 'done', words: 'Done, thank you' })
})

test('a device that does not answer misses the turn, holds up nothing afterwards, and may rejoin later', async (t) => {
  const opened = await openListener(t)
  const { device, instruction, replying } = await begin(opened)
  await Promise.all([replying(undefined), device.open(page)])

  const asked = device.run(receiverFunctions.hasAll, ['a'], 0)
  await instruction()
  opened.pass(30_000)
  assert.equal(await asked, true)
  assert.equal(device.missed, 'went away')
  // Answers at once, without an instruction.
  assert.deepEqual(await device.run(receiverFunctions.readStamps, 0, 0), { sent: [], received: [] })
  await device.open(page)
  assert.equal(device.missed, 'went away')

  await opened.fetchNext(device.id, 0)
  await Promise.all([replying(undefined), device.open(page)])
  assert.equal(device.missed, null)
})

test('a page that is closed misses the turn immediately', async (t) => {
  const opened = await openListener(t)
  const { id, device, instruction, replying } = await begin(opened)
  await Promise.all([replying(undefined), device.open(page)])
  const asked = device.run(receiverFunctions.isLinked)
  await instruction()
  assert.equal((await opened.ask('POST', `/lab/left?device=${id}`)).status, 204)
  assert.equal(await asked, true)
  assert.equal(device.missed, 'went away')
})

test('a page that was hidden, however briefly, misses the turn', async (t) => {
  const opened = await openListener(t)
  const { device, replying } = await begin(opened)
  await Promise.all([replying(undefined), device.open(page)])
  await Promise.all([replying(true, { hides: 1 }), device.run(receiverFunctions.isLinked)])
  assert.equal(device.missed, 'was hidden')
  await Promise.all([replying(undefined, { hides: 1 }), device.open(page)])
  await Promise.all([replying(true, { hides: 1 }), device.run(receiverFunctions.isLinked)])
  assert.equal(device.missed, null)
})

for (const [what, result] of [
  ['no list', { sent: [], received: 'all' }],
  ['a stamp without its time', { sent: [], received: [{ id: 'a', kind: 'update', seq: 1 }] }],
  ['nothing', undefined],
] as const) {
  test(`stamps that are ${what} are rejected`, async (t) => {
    const { device, replying } = await begin(await openListener(t))
    await Promise.all([replying(undefined), device.open(page)])
    const asked = device.run(receiverFunctions.readStamps, 0, 0)
    await replying(result)
    assert.deepEqual(await asked, { sent: [], received: [] })
    assert.equal(device.missed, 'gave an answer that was not understood')
  })
}

test("a late answer and another device's change nothing", async (t) => {
  const opened = await openListener(t)
  const { id, device, instruction } = await begin(opened)
  const opening = device.open(page)
  const { number } = await instruction()
  const asked = opened.answer(id, { number: number - 1, error: 'late' })
  assert.equal((await asked).status, 204)
  assert.equal((await opened.answer('someone-else', { number, error: 'foreign' })).status, 404)
  assert.equal(device.missed, null)
  await opened.answer(id, { number })
  await opening
  assert.equal(device.missed, null)
})

test('wrong input is refused with a status and a sentence', async (t) => {
  const opened = await openListener(t)
  const { id } = await begin(opened)
  const { ask } = opened
  const answers = `/lab/answers?device=${id}`
  const refusals = [
    [await ask('POST', answers, '{'), 400, 'not-json'],
    [await ask('POST', answers, { number: 'one' }), 400, 'bad-request'],
    [await ask('POST', answers, { number: 1 }, 'text/plain'), 415, 'wrong-type'],
    [await ask('POST', '/lab/devices', {}), 404, 'not-found'],
    [await ask('GET', `/lab/instructions?device=${id}&seen=-1`), 400, 'bad-request'],
    [await ask('GET', '/lab/instructions?device=none&seen=0&hides=0&isHidden=false'), 404, 'not-found'],
    [await ask('GET', '/lab/nothing'), 404, 'not-found'],
    [await ask('GET', '/assets/index.js'), 404, 'not-found'],
  ] as const
  for (const [{ status, said }, expected, code] of refusals)
    assert.deepEqual([status, said.code], [expected, code])
  const large = await ask('POST', answers, `"${'x'.repeat(9 * 1024 ** 2)}"`).catch(() => ({ status: 413 }))
  assert.equal(large.status, 413)
})

test('a place is free again when its device leaves; otherwise all are taken', async (t) => {
  const opened = await openListener(t, 2)
  const { ask, pass } = opened
  const first = await ask('POST', '/lab/devices', {})
  const second = await ask('POST', '/lab/devices', {})
  assert.deepEqual([first.said.name, second.said.name], ['device 1', 'device 2'])
  assert.equal((await ask('POST', '/lab/devices', {})).said.code, 'too-many-windows')
  assert.equal((await ask('POST', '/lab/devices', { device: second.said.device })).said.name, 'device 2')
  pass(5000)
  await ask('POST', '/lab/devices', { device: second.said.device })
  pass(5000)
  assert.equal((await ask('POST', '/lab/devices', {})).said.name, 'device 1')
})

test('the wait for devices times out with the number that joined', async (t) => {
  const { listener, ask, pass } = await openListener(t, 2)
  await ask('POST', '/lab/devices', {})
  const gathering = listener.gather(new AbortController().signal, () => undefined)
  pass(9999)
  await ask('POST', '/lab/devices', {})
  await gathering
  const other = await openListener(t, 2)
  const alone = other.listener.gather(new AbortController().signal, () => undefined)
  const refused = assert.rejects(
    alone,
    /0 of 2 devices are here after 10 minutes: --join sets how many to wait for\./,
  )
  other.pass(600_000)
  await refused
  const stopping = new AbortController()
  const stopped = assert.rejects(
    other.listener.gather(stopping.signal, () => undefined),
    /stopped/,
  )
  stopping.abort(new Error('stopped'))
  await stopped
})

test('only this page may frame the measured page, and its settings say that it reaches the server directly', async (t) => {
  const { cert, key } = certificate
  const measured = https.createServer({ cert, key }, (request, response) => {
    const policy = "default-src 'none'; connect-src https://localhost:1; frame-ancestors 'none'"
    response.setHeader('Content-Type', 'text/html')
    response.setHeader('Content-Security-Policy', policy)
    response.setHeader('Set-Cookie', 'a=b')
    response.end(
      `${request.url}<script type="application/json" id="settings">{"ports":{"2":1,"1.1":2}}</script>`,
    )
  })
  const port = await openPort(measured)
  t.after(() => measured.close())
  const opened = await openListener(t)
  const { device, replying } = await begin(opened)
  await Promise.all([replying(undefined), device.open(`https://localhost:${port}/d/x?record=`)])
  const { said, headers } = await opened.ask('GET', '/d/x?record=')
  const own = new URL(opened.listener.origin).port
  assert.equal(
    said,
    `/d/x?record=<script type="application/json" id="settings">{"ports":{"2":1,"1.1":2,"lab":${own}}}</script>`,
  )
  assert.match(
    String(headers['content-security-policy']),
    /connect-src https:\/\/localhost:1; frame-ancestors 'self'$/,
  )
  assert.equal(headers['set-cookie'], undefined)
})

test('a device runs only the receivers’ functions', async (t) => {
  const { device } = await begin(await openListener(t))
  await assert.rejects(
    device.run(function secret() {
      return true
    }),
    /A joined device does not run secret\./,
  )
})

test('an error in the page is a reason, without its addresses', async (t) => {
  const opened = await openListener(t)
  const { id, device, instruction } = await begin(opened)
  const opening = device.open(page)
  const { number } = await instruction()
  await opened.answer(id, { number, error: 'Error: https://10.0.0.7:1/x did not load' })
  await opening
  assert.equal(device.missed, 'failed (Error: … did not load)')
})

for (const [userAgent, words] of [
  [phone, 'Chrome 156 on Android'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 19_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.2 Mobile/15E148 Safari/604.1',
    'Safari 19 on iOS',
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0', 'Firefox 153 on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36 Edg/156.0.0.0',
    'Edge 156 on Windows',
  ],
  ['', 'an unknown browser'],
  [`Mozilla/5.0 (X11; Linux x86_64) Chrome/${'1'.repeat(5000)}.0`, 'an unknown browser on Linux'],
] as const)
  test(`a report calls a device ${words}`, () => assert.equal(agentOf(userAgent), words))
