// Checks who is shown to whom: changes, the full state for newcomers, removal when a client leaves.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AwarenessFrame,
  type AwarenessState,
  type DownFrame,
  mostShownWindows,
  nameUnder,
} from '../wire/messages.ts'
import {
  type FakeConnection,
  type FakePlace,
  framesOf,
  openHub,
  refusalOf,
  settled,
  watch,
} from './hub-testing.ts'

const at = (anchor: string | null, name = ''): AwarenessState => ({ client: 7, name, anchor, head: anchor })

/** `main: w1 AA, w2 gone`; a full frame begins with `all`. */
function inWords({ channel, windows, whole }: AwarenessFrame<AwarenessState>): string {
  const each = windows.map(({ window, state }) => `${window} ${state === null ? 'gone' : state.anchor}`)
  return `${channel}${whole ? ' all' : ''}: ${each.join(', ')}`
}

const shownIn = (frames: readonly DownFrame[]) =>
  frames.flatMap((frame) =>
    frame.type === 'awareness' ? [inWords(frame as AwarenessFrame<AwarenessState>)] : [],
  )

function openPage() {
  const opened = openHub({ maxWindows: 5000 })
  const { hub, time, enter } = opened
  return {
    ...opened,
    async join(place: FakePlace = {}) {
      const entered = enter(place)
      await settled()
      return { ...entered, show: (state: AwarenessState | null) => hub.show(entered.window, { state }) }
    },
    /** Frames received since the last call. */
    told({ frames }: FakeConnection) {
      time.advance(60)
      return shownIn(frames.splice(0))
    },
  }
}

test('a window’s state is sent to the others on the page, but not to the window itself', async () => {
  const { join, told } = openPage()
  const author = await join({ id: 'w1' })
  const reader = await join({ id: 'w2' })
  author.show(at('AA'))
  assert.deepEqual(told(reader.connection), ['main all: w1 AA'])
  told(author.connection)
  author.show(at('AB'))
  author.show(at('AC'))
  assert.deepEqual(told(reader.connection), ['main: w1 AC'])
  assert.deepEqual(told(author.connection), [])
})

test('an unchanged state is sent again after its window has written, because the others have moved its caret', async () => {
  const { hub, join, told } = openPage()
  const author = await join({ id: 'w1' })
  const reader = await join({ id: 'w2' })
  author.show(at('AA'))
  told(reader.connection)
  await hub.publish({ id: 'w1-1', channel: 'main', kind: 'edit', from: 'w1', at: 1, body: { html: 'x' } })
  author.show(at('AA'))
  assert.deepEqual(told(reader.connection), ['main: w1 AA'])
  author.show(at('AA'))
  assert.deepEqual(told(reader.connection), [])
})

test('an unchanged state is not sent again', async () => {
  const { join, told } = openPage()
  const author = await join({ id: 'w1' })
  const reader = await join({ id: 'w2' })
  author.show(at('AA'))
  told(reader.connection)
  author.show(at('AA'))
  assert.deepEqual(told(reader.connection), [])
})

test('changes of many windows within a short time share one frame', async () => {
  const { join, told } = openPage()
  const authors = [await join({ id: 'w1' }), await join({ id: 'w2' }), await join({ id: 'w3' })]
  const reader = await join({ id: 'w4' })
  authors[0]?.show(at('AA'))
  told(reader.connection)
  for (const { show } of authors) show(at('AB'))
  assert.deepEqual(told(reader.connection), ['main: w1 AB, w2 AB, w3 AB'])
})

test('a newcomer receives everything shown, and nothing for an empty page', async () => {
  const { join, told } = openPage()
  assert.deepEqual(told((await join({ id: 'w0' })).connection), [])
  const author = await join({ id: 'w1' })
  author.show(at('AA'))
  const late = await join({ id: 'w2' })
  assert.deepEqual(shownIn(late.connection.frames), ['main all: w1 AA'])
  late.connection.frames.length = 0
  assert.deepEqual(told(late.connection), [])
})

test('a state is sent only to readers of its channel, and special channels show nobody', async () => {
  const { hub, join, told } = openPage()
  const author = await join({ id: 'w1', channels: ['main', 'wind', 'overview.main'] })
  const others = [
    await join({ id: 'w2', channels: ['notes', 'wind'] }),
    await join({ id: 'w3', channels: ['wind', 'overview.main'] }),
  ]
  author.show(at('AA'))
  for (const { connection } of others) assert.deepEqual(told(connection), [])
  const elsewhere = { wind: 'read-only-channel', 'overview.main': 'read-only-channel', notes: 'bad-shape' }
  for (const [channel, code] of Object.entries(elsewhere)) {
    const refused = await refusalOf(() => hub.show(author.window, { channel, state: at('AA') }))
    assert.equal(refused.code, code)
  }
})

test('a window disappears when it says so, when its stream ends, and when the server closes its stream', async () => {
  const { hub, time, join, told } = openPage()
  const reader = await join({ id: 'w9' })
  const leave = [
    async ({ show }: Awaited<ReturnType<typeof join>>) => show(null),
    async ({ window }: Awaited<ReturnType<typeof join>>) => hub.leave(window),
    async () => time.advance(16_000 * 3),
  ]
  for (const [index, end] of leave.entries()) {
    const author = await join({ id: `w${index}` })
    hub.heard(author.window)
    author.show(at('AA'))
    told(reader.connection)
    await end(author)
    assert.deepEqual(told(reader.connection), [`main: w${index} gone`])
  }
})

test('a replacement stream shows nothing until it reports a state', async () => {
  const { join, told } = openPage()
  const reader = await join({ id: 'w2' })
  const older = await join({ id: 'w1', opening: 1 })
  older.show(at('AA'))
  told(reader.connection)
  const newer = await join({ id: 'w1', opening: 2 })
  assert.deepEqual(told(reader.connection), ['main: w1 gone'])
  newer.show(at('AB'))
  assert.deepEqual(told(reader.connection), ['main: w1 AB'])
})

test('of two streams with one free name, the latest report is shown, and the end of the other changes nothing', async () => {
  const { hub, join, told } = openPage()
  const reader = await join({ id: 'w2' })
  const one = await join({ id: 'c1', owner: null })
  const other = await join({ id: 'c1', owner: null })
  one.show(at('AA'))
  other.show(at('AB'))
  told(reader.connection)
  hub.leave(one.window)
  assert.deepEqual(told(reader.connection), [])
  hub.leave(other.window)
  assert.deepEqual(told(reader.connection), ['main: c1 gone'])
})

test('a shared stream shows only windows of its own key, and all disappear with it', async () => {
  const { hub, join, told } = openPage()
  const owner = 'o'.repeat(22)
  const stream = await join({ id: nameUnder(owner, 's1'), owner, channels: ['main', 'notes'] })
  const reader = await join({ id: 'w9' })
  const report = (window: string, channel = 'main') => ({ window, channel, state: at('AA') })
  hub.show(stream.window, report(nameUnder(owner, 'w1')))
  hub.show(stream.window, report(nameUnder(owner, 'w2'), 'notes'))
  hub.show(stream.window, report(nameUnder(owner, 'w3')))
  const one = nameUnder(owner, 'w1')
  const other = nameUnder(owner, 'w3')
  assert.deepEqual(told(reader.connection), [`main all: ${one} AA, ${other} AA`])
  // Its own windows learn of each other only through the server.
  assert.equal(shownIn(stream.connection.frames).length, 2)
  for (const foreign of [nameUnder('p'.repeat(22), 'w1'), 'w1']) {
    const { status, code } = await refusalOf(() => hub.show(stream.window, report(foreign)))
    assert.deepEqual([status, code], [403, 'not-your-name'])
  }
  const free = await join({ id: 'c1', owner: null })
  assert.equal((await refusalOf(() => hub.show(free.window, report('c2')))).code, 'not-your-name')
  told(reader.connection)
  hub.leave(stream.window)
  assert.deepEqual(told(reader.connection), [`main: ${one} gone, ${other} gone`])
})

test('a stream with unsent bytes receives no changes, then the full state once it reads again', async () => {
  const { time, join, told } = openPage()
  const author = await join({ id: 'w1' })
  const going = await join({ id: 'w2' })
  const slow = await join({ id: 'w3' })
  author.show(at('AA'))
  going.show(at('AA'))
  told(slow.connection)
  slow.connection.isFull = true
  for (const anchor of ['AB', 'AC', 'AD']) {
    author.show(at(anchor))
    told(slow.connection)
  }
  going.show(null)
  for (let moves = 0; moves < 1000; moves += 1) {
    author.show(at(`A${moves}`))
    assert.deepEqual(told(slow.connection), [])
  }
  slow.connection.isFull = false
  slow.window.drained()
  time.advance(600)
  assert.deepEqual(told(slow.connection), ['main all: w1 A999'])
})

test('a poll returns the changes since the last one, and the full state after a departure', async () => {
  const { hub, join, ask } = openPage()
  const author = await join({ id: 'w1' })
  const other = await join({ id: 'w2' })
  author.show(at('AA'))
  const poll = async (isFirst = false) =>
    shownIn(framesOf(await ask({ id: 'w9' }, { isFirst, cursor: 'life1:0' })))
  assert.deepEqual(await poll(true), ['main all: w1 AA'])
  assert.deepEqual(await poll(), [])
  other.show(at('BA'))
  assert.deepEqual(await poll(), ['main: w2 BA'])
  author.show(at('AB'))
  hub.leave(other.window)
  assert.deepEqual(await poll(), ['main all: w1 AB'])
  hub.leave(author.window)
  assert.deepEqual(await poll(), ['main all: '])
  assert.deepEqual(await poll(), [])
  assert.deepEqual(await poll(true), [])
})

test('a response that nobody read does not count as delivered', async () => {
  const { join, ask } = openPage()
  const author = await join({ id: 'w1' })
  await ask({ id: 'w9' }, { isFirst: true })
  author.show(at('AA'))
  const lost = AbortSignal.abort()
  await ask({ id: 'w9' }, { cursor: 'life1:0', signal: lost })
  const answer = await ask({ id: 'w9' }, { cursor: 'life1:0' })
  assert.deepEqual(shownIn(framesOf(answer)), ['main all: w1 AA'])
})

test('a held poll returns when another window moves, but not for the window’s own moves', async () => {
  const { hub, time, join, ask } = openPage()
  const author = await join({ id: 'w1' })
  await ask({ id: 'w9' }, { isFirst: true })
  const own = watch(ask({ id: 'w9' }, { cursor: 'life1:0', holdMs: 5000 }))
  await settled()
  author.show(at('AA'))
  time.advance(60)
  await settled()
  assert.deepEqual(own.reply && shownIn(framesOf(own.reply)), ['main all: w1 AA'])
  hub.show('w9', { state: at('CC') })
  const answer = await ask({ id: 'w9' }, { cursor: 'life1:0' })
  assert.deepEqual(shownIn(framesOf(answer)), [])
})

test('a polling window is shown only while it polls: not after leaving, nor while it is silent', async () => {
  const { hub, time, join, ask, told } = openPage()
  const reader = await join({ id: 'w1' })
  const poll = (isFirst = false) => ask({ id: 'w9', opening: 3 }, { isFirst, cursor: 'life1:0' })
  await poll(true)
  hub.show('w9', { state: at('AA') }, 3)
  assert.deepEqual(told(reader.connection), ['main all: w9 AA'])
  time.advance(6000)
  assert.deepEqual(told(reader.connection), ['main: w9 gone'])
  await poll()
  assert.deepEqual(told(reader.connection), ['main: w9 AA'])
  time.advance(6000)
  assert.deepEqual(told(reader.connection), ['main: w9 gone'])
  await poll(true)
  assert.deepEqual(told(reader.connection), [])
  hub.show('w9', { state: at('AC') }, 3)
  assert.deepEqual(told(reader.connection), ['main: w9 AC'])
  // Sent before this opening.
  hub.show('w9', { state: at('AB') }, 2)
  assert.deepEqual(told(reader.connection), [])
  hub.left('w9', 3)
  assert.deepEqual(told(reader.connection), ['main: w9 gone'])
  hub.show('w9', { state: at('AA') }, 3)
  assert.deepEqual(told(reader.connection), [])
})

test('invented windows of one stream are limited, and displace no window of another key', async () => {
  const { hub, join, told } = openPage()
  const owner = 'o'.repeat(22)
  const mine = 'm'.repeat(22)
  const person = await join({ id: nameUnder(mine, 'w1'), owner: mine })
  const reader = await join({ id: 'w9' })
  person.show(at('AA', 'Ada'))
  for (const stream of ['s1', 's2', 's3', 's4']) {
    const attacker = await join({ id: nameUnder(owner, stream), owner })
    for (let index = 0; index < 2500; index += 1) {
      const window = nameUnder(owner, `${stream}.${index}`)
      hub.show(attacker.window, { window, state: at('BB') })
    }
  }
  told(reader.connection)
  const late = await join({ id: 'late' })
  const [frame] = late.connection.frames.filter(({ type }) => type === 'awareness')
  assert.ok(frame?.type === 'awareness')
  assert.equal(frame.windows.length, mostShownWindows)
  assert.ok(frame.windows.some(({ state }) => (state as AwarenessState).name === 'Ada'))
})

test('when there are too many windows, those that moved last are shown', async () => {
  const { join } = openPage()
  const windows = []
  for (let index = 0; index < mostShownWindows + 2; index += 1) {
    windows.push(await join({ id: `w${index}`, owner: `o${index}` }))
  }
  for (const { show } of windows) show(at('AA'))
  windows[0]?.show(at('AB'))
  const late = await join({ id: 'late', owner: 'late' })
  const [frame] = late.connection.frames.flatMap((each) => (each.type === 'awareness' ? [each] : []))
  const names = frame?.windows.map(({ window }) => window) ?? []
  assert.equal(names.length, mostShownWindows)
  assert.deepEqual([names.at(-1), names.includes('w1'), names.includes('w2')], ['w0', false, false])
})

test('schedules no timer while nobody moves', async () => {
  const { time, join, told } = openPage()
  const author = await join({ id: 'w1' })
  const reader = await join({ id: 'w2' })
  told(reader.connection)
  const before = time.pending()
  author.show(at('AA'))
  told(reader.connection)
  assert.equal(time.pending(), before)
})
