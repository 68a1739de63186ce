// Windows end up equal, with every keystroke, after outages, reloads, sleep and mode switches.

import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { type Mode, modeNamed } from '../../protocol/modes.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { until } from '../browser/browser.ts'
import { startProxy } from '../network/cutting-proxy.ts'
import { editsReceived, linkState, switchMode, windowsAtServer } from './page.ts'
import {
  browserModes,
  browserName,
  openStage,
  type Stage,
  untilKept,
  untilOpen,
  untilShows,
} from './stage.ts'

let stage: Stage
before(async () => {
  // A short heartbeat, so that silence is noticed within seconds.
  stage = await openStage({ heartbeatMs: 1000 })
})
after(() => stage.close())

function mode(name: string): Mode {
  return modeNamed(name) ?? assert.fail(`there is no mode ${name}`)
}

/** A window behind a breakable proxy, and one connected directly. */
async function openPair(t: TestContext, typistMode: Mode, channel: string) {
  const opened = new AsyncDisposableStack()
  t.after(() => opened.disposeAsync())
  const proxy = await startProxy(stage.server.ports[typistMode.http])
  opened.defer(proxy.close)
  const typist = await stage.browser.newWindow()
  opened.defer(() => typist.close())
  const query = new URLSearchParams({
    transport: typistMode.transport,
    http: typistMode.http,
    channel,
    record: '',
  })
  await typist.open(`https://localhost:${proxy.port}/?${query}`)
  await untilOpen(typist, typistMode)
  const [reader] = await stage.open(mode('sse/2'), 1, channel)
  assert.ok(reader)
  opened.defer(() => reader.close())
  await typist.click('#document')
  return { proxy, typist, reader }
}

/** Each edit once, and each sender's in the order sent. */
function assertOnceAndInOrder(ids: readonly string[]): void {
  assert.ok(ids.length > 0)
  assert.equal(new Set(ids).size, ids.length, 'an edit arrived twice')
  const last = new Map<string, number>()
  for (const id of ids) {
    const [sender = '', number = '0'] = id.split(/-(?=\d+$)/)
    assert.ok(Number(number) > (last.get(sender) ?? 0), `${id} arrived out of order`)
    last.set(sender, Number(number))
  }
}

for (const each of browserModes) {
  test(`${each.name}: cut off while typing, every keystroke arrives, once and in order`, async (t) => {
    const { proxy, typist, reader } = await openPair(t, each, `cut-${each.name.replace('/', '-')}`)
    await typist.type('before ')
    proxy.refuse(true)
    proxy.cut()
    await typist.type('during ')
    await until(async () => (await typist.run(linkState)).state !== 'open', 'the loss was not noticed')
    proxy.refuse(false)
    await typist.type('after')
    await untilShows(reader, 'before during after')
    await untilShows(typist, 'before during after')
    assertOnceAndInOrder(await reader.run(editsReceived))
  })
}

for (const each of browserModes) {
  test(`${each.name}: a window reloaded with unsent keystrokes keeps and sends them`, async (t) => {
    const { proxy, typist, reader } = await openPair(t, each, `reload-${each.name.replace('/', '-')}`)
    await typist.type('stored ')
    await untilShows(reader, 'stored ')
    // Typed text is now lost on the way.
    proxy.hold()
    await typist.type('unsent')
    await untilShows(typist, 'stored unsent')
    await untilKept(typist)
    proxy.cut()
    proxy.release()
    await typist.reload()
    await untilShows(typist, 'stored unsent')
    await untilShows(reader, 'stored unsent')
    await untilOpen(typist, each)
    await typist.click('#document')
    await typist.key('\uE010')
    await typist.type('!')
    await untilShows(reader, 'stored unsent!')
    assertOnceAndInOrder(await reader.run(editsReceived))
  })
}

for (const name of ['sse/2', 'websocket/1.1', 'polling/2']) {
  test(`${name}: a window that slept matches the others when it wakes`, {
    skip: browserName === 'firefox' && 'Firefox cannot be told to put a page to sleep',
  }, async () => {
    const channel = `sleep-${name.replace('/', '-')}`
    const [sleeper] = await stage.open(mode(name), 1, channel)
    const [typist] = await stage.open(mode('sse/2'), 1, channel)
    assert.ok(sleeper && typist)
    await typist.click('#document')
    await typist.type('awake ')
    await untilShows(sleeper, 'awake ')
    // After its first heartbeat the client must continue sending them.
    const isHeard = async () =>
      (await typist.run(windowsAtServer)).every(
        ({ channels, heardAt }) => !channels.includes(channel) || heardAt !== null,
      )
    await until(isHeard, 'the windows sent no heartbeat')
    await sleeper.freeze(true)
    await typist.type('asleep ')
    // Waits until the server drops the silent window.
    const windows = async () => (await typist.run(linkState)).windows
    await until(async () => (await windows()) === 1, 'the sleeping window was not dropped')
    await sleeper.freeze(false)
    await typist.type('awake')
    await untilShows(sleeper, 'awake asleep awake')
    assertOnceAndInOrder(await sleeper.run(editsReceived))
    for (const window of [sleeper, typist]) await window.close()
  })
}

test('fifty switches of mode at random while another window types: nothing lost, repeated or reordered', async () => {
  const random = createSeededRandom(20261121)
  const [typist, switcher] = await stage.open(mode('sse/2'), 2, 'fifty')
  assert.ok(typist && switcher)
  await typist.click('#document')
  let typed = ''
  for (let count = 0; count < 50; count += 1) {
    const next = browserModes[Math.floor(random() * browserModes.length)] ?? assert.fail('there are no modes')
    await switcher.run(switchMode, next.name)
    const key = String.fromCharCode(97 + (count % 26))
    await typist.type(key)
    typed += key
    // Every other switch happens before the mode has opened.
    if (count % 2 === 0) await untilOpen(switcher, next)
  }
  await untilShows(switcher, typed)
  assertOnceAndInOrder(await switcher.run(editsReceived))
  for (const window of [typist, switcher]) await window.close()
})
