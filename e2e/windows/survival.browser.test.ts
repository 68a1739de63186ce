// Windows of a real browser end up equal, with every keystroke: cut off, reloaded, asleep, and switching all the while.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Mode, modeNamed, modes } from '../../server/wire/modes.ts'
import { createSeededRandom } from '../../server/wire/random.ts'
import type { BrowserWindow } from '../browser/browser.ts'
import { until } from '../browser/until.ts'
import { type Stretch, startProxy } from '../network/proxy.ts'
import { editsReceived, linkState, windowsAtServer } from './page.ts'
import { openStage, type Stage, type as typeText, untilOpen, untilShows } from './stage.ts'

let stage: Stage
before(async () => {
  // Silence is noticed within a few seconds, so that the tests need not wait a minute for it.
  stage = await openStage({ heartbeatMs: 1000 })
})
after(() => stage.close())

function mode(name: string): Mode {
  return modeNamed(name) ?? assert.fail(`there is no mode ${name}`)
}

/** A window behind a stretch of network that can break, and one that is directly there. */
async function openPair(typistMode: Mode, channel: string) {
  const proxy = await startProxy(stage.server.ports[typistMode.http])
  const typist = await stage.browser.newWindow()
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
  await typist.click('#document')
  return { proxy, typist, reader }
}

async function closeAll(proxy: Stretch, ...windows: readonly BrowserWindow[]): Promise<void> {
  for (const window of windows) await window.close()
  await proxy.close()
}

/** Each edit once, and every sender's own in the order in which they were sent. */
function assertOnceAndInOrder(ids: readonly string[], count: number): void {
  assert.equal(new Set(ids).size, ids.length, 'an edit came twice')
  assert.equal(ids.length, count)
  const last = new Map<string, number>()
  for (const id of ids) {
    const [sender = '', number = '0'] = id.split(/-(?=\d+$)/)
    assert.ok(Number(number) > (last.get(sender) ?? 0), `${id} came out of order`)
    last.set(sender, Number(number))
  }
}

for (const each of modes) {
  test(`${each.name}: cut off while typing, every keystroke arrives, once and in order`, async () => {
    const { proxy, typist, reader } = await openPair(each, `cut-${each.name.replace('/', '-')}`)
    await typeText(typist, 'before ')
    proxy.refuse(true)
    proxy.cut()
    await typeText(typist, 'during ')
    await until(async () => (await typist.run(linkState)).state !== 'open', 'the loss was not noticed')
    proxy.refuse(false)
    await typeText(typist, 'after')
    await untilShows(reader, 'before during after')
    await untilShows(typist, 'before during after')
    assertOnceAndInOrder(await reader.run(editsReceived), 'before during after'.length)
    await closeAll(proxy, typist, reader)
  })
}

for (const name of ['sse/2', 'websocket/1.1', 'long-polling/2', 'streaming/2']) {
  test(`${name}: reloaded with unsent keystrokes, a window brings them along`, async () => {
    const { proxy, typist, reader } = await openPair(mode(name), `reload-${name.replace('/', '-')}`)
    await typeText(typist, 'stored ')
    await untilShows(reader, 'stored ')
    // What is typed now is swallowed on its way.
    proxy.hold()
    await typeText(typist, 'unsent')
    proxy.cut()
    proxy.release()
    await typist.reload()
    await untilShows(typist, 'stored unsent')
    await untilShows(reader, 'stored unsent')
    await untilOpen(typist, mode(name))
    await typist.click('#document')
    await typist.key('\uE010')
    await typeText(typist, '!')
    await untilShows(reader, 'stored unsent!')
    assertOnceAndInOrder(await reader.run(editsReceived), 'stored unsent!'.length)
    await closeAll(proxy, typist, reader)
  })
}

for (const name of ['sse/2', 'sse/1.1', 'websocket/1.1', 'polling/2']) {
  test(`${name}: a window that slept wakes up equal to the others`, async () => {
    const channel = `sleep-${name.replace('/', '-')}`
    const [sleeper] = await stage.open(mode(name), 1, channel)
    const [typist] = await stage.open(mode('sse/2'), 1, channel)
    assert.ok(sleeper && typist)
    await typist.click('#document')
    await typeText(typist, 'awake ')
    await untilShows(sleeper, 'awake ')
    // From its first sign of life on it is expected to go on.
    const isHeard = async () =>
      (await typist.run(windowsAtServer)).every(
        ({ channels, heardAt }) => !channels.includes(channel) || heardAt !== null,
      )
    await until(isHeard, 'the windows gave no sign of life')
    await sleeper.freeze(true)
    await typeText(typist, 'asleep ')
    // Long enough for the server to let the silent window go.
    const windows = async () => (await typist.run(linkState)).windows
    await until(async () => (await windows()) === 1, 'the sleeping window was not let go')
    await sleeper.freeze(false)
    await typeText(typist, 'awake')
    await untilShows(sleeper, 'awake asleep awake')
    assertOnceAndInOrder(await sleeper.run(editsReceived), 'awake asleep awake'.length)
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
    const next = modes[Math.floor(random() * modes.length)] ?? assert.fail('there are no modes')
    await switcher.run((name: string) => window.crosswind?.switchMode(name), next.name)
    const key = String.fromCharCode(97 + (count % 26))
    await typeText(typist, key)
    typed += key
    // Every other time it switches on before the mode has opened.
    if (count % 2 === 0) await untilOpen(switcher, next)
  }
  await untilShows(switcher, typed)
  assertOnceAndInOrder(await switcher.run(editsReceived), typed.length)
  for (const window of [typist, switcher]) await window.close()
})
