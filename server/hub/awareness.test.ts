// The windows shown to each client: changes, the full state for newcomers, removal of the gone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AwarenessFrame, type DownFrame, maxShownWindows, nameUnder } from '../../protocol/messages.ts'
import { typesByName } from '../channels/channel-type.ts'
import { hiddenAfterMs } from './awareness.ts'
import {
  type FakeConnection,
  type FakePlace,
  framesOf,
  type HubChange,
  openHub,
  refusalOf,
  type ShownState,
  settled,
  watch,
} from './hub-testing.ts'

const at = (anchor: string | null, name = ''): ShownState => ({ client: 7, name, anchor, head: anchor })

/** `main: w1 AA, w2 gone`; a full frame begins with `all`. */
function inWords({ channel, windows, whole }: AwarenessFrame<ShownState>): string {
  const each = windows.map(({ window, state }) => `${window} ${state === null ? 'gone' : state.anchor}`)
  return `${channel}${whole ? ' all' : ''}: ${each.join(', ')}`
}

const shownIn = (frames: readonly DownFrame[]) =>
  frames.flatMap((frame) =>
    frame.type === 'awareness' ? [inWords(frame as AwarenessFrame<ShownState>)] : [],
  )

function openPage(change: HubChange = {}) {
  const opened = openHub({ maxWindows: 5000, ...change })
  const { hub, time, enter } = opened
  return {
    ...opened,
    async join(place: FakePlace = {}) {
      const entered = enter(place)
      await settled()
      return { ...entered, show: (state: ShownState | null) => hub.show(entered.window, { state }) }
    },
    /** Frames received since the last call. */
    told({ frames }: FakeConnection) {
      time.advance(60)
      return shownIn(frames.splice(0))
    },
    /** Until a window that has left is no longer shown. */
    pass: () => time.advance(hiddenAfterMs + turnMs),
  }
}

/** Interval of the search for clients that have left: a sixteenth of a heartbeat. */
const turnMs = 1000

test('a window’s state is sent to the others on the channel, but not to the window itself', async () => {
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

test('a type may complete what its windows show, before the others get it', async () => {
  const shows = (state: unknown) => ({ ...(state as ShownState), anchor: 'completed' })
  const typeOf = typesByName([['*', { name: 'document', kinds: {}, shows }]])
  const { join, told } = openPage({ typeOf })
  const author = await join({ id: 'w1' })
  const reader = await join({ id: 'w2' })
  author.show(at('AA'))
  assert.deepEqual(told(reader.connection), ['main all: w1 completed'])
  author.show(null)
  assert.deepEqual(told(reader.connection), ['main: w1 gone'])
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

test('a newcomer receives everything shown, and nothing for an empty channel', async () => {
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
  const author = await join({ id: 'w1', channels: ['main', 'wind', 'figures.main'] })
  const others = [
    await join({ id: 'w2', channels: ['notes', 'wind'] }),
    await join({ id: 'w3', channels: ['wind', 'figures.main'] }),
  ]
  author.show(at('AA'))
  for (const { connection } of others) assert.deepEqual(told(connection), [])
  const elsewhere = { wind: 'read-only-channel', 'figures.main': 'read-only-channel', notes: 'bad-shape' }
  for (const [channel, code] of Object.entries(elsewhere)) {
    const refused = await refusalOf(() => hub.show(author.window, { channel, state: at('AA') }))
    assert.equal(refused.code, code)
  }
})

test('a window disappears when it says so or leaves for good, and a while after its stream ends on either side', async () => {
  const { hub, time, join, told, pass } = openPage()
  const reader = await join({ id: 'w9' })
  const leave = [
    async ({ show }: Awaited<ReturnType<typeof join>>) => show(null),
    async () => hub.left('w1', 0, true),
    async ({ window }: Awaited<ReturnType<typeof join>>) => {
      hub.leave(window)
      assert.deepEqual(told(reader.connection), [])
      pass()
    },
    async () => {
      time.advance(16_000 * 3)
      pass()
    },
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

test('a client that reopens its stream in any way is not seen to leave', async () => {
  const { hub, join, told, time, pass } = openPage()
  const reader = await join({ id: 'w2', channels: ['main', 'notes'] })
  const first = await join({ id: 'w1', opening: 1 })
  first.show(at('AA'))
  told(reader.connection)
  // It follows another channel: the newer stream comes first, or the end of the older one.
  const second = await join({ id: 'w1', opening: 2, channels: ['main', 'notes'] })
  second.show(at('AA'))
  hub.leave(second.window)
  time.advance(2000)
  const third = await join({ id: 'w1', opening: 3, expiresAt: time.now() + 1000 })
  third.show(at('AA'))
  // Its permit ends.
  time.advance(2500)
  assert.equal(third.connection.byes.length, 1)
  const fourth = await join({ id: 'w1', opening: 4 })
  fourth.show(at('AA'))
  pass()
  assert.deepEqual(told(reader.connection), [])
  fourth.show(at('AB'))
  assert.deepEqual(told(reader.connection), ['main: w1 AB'])
})

test('a client that comes back without a state, or without the channel, is no longer shown', async () => {
  const { hub, join, told, pass } = openPage()
  const reader = await join({ id: 'w2', channels: ['main', 'notes'] })
  const first = await join({ id: 'w1', opening: 1, channels: ['main', 'notes'] })
  for (const channel of ['main', 'notes']) hub.show(first.window, { channel, state: at('AA') })
  told(reader.connection)
  await join({ id: 'w1', opening: 2, channels: ['main'] })
  assert.deepEqual(told(reader.connection), ['notes: w1 gone'])
  pass()
  assert.deepEqual(told(reader.connection), ['main: w1 gone'])
})

test('a free name that comes back is not seen to leave either', async () => {
  const { hub, join, told, pass } = openPage()
  const reader = await join({ id: 'w2' })
  const first = await join({ id: 'c1', owner: null })
  first.show(at('AA'))
  told(reader.connection)
  hub.leave(first.window)
  const second = await join({ id: 'c1', owner: null })
  second.show(at('AA'))
  pass()
  assert.deepEqual(told(reader.connection), [])
})

test('with two streams under one free name, the latest report is shown, and the end of the other changes nothing', async () => {
  const { hub, join, told, pass } = openPage()
  const reader = await join({ id: 'w2' })
  const one = await join({ id: 'c1', owner: null })
  const other = await join({ id: 'c1', owner: null })
  one.show(at('AA'))
  other.show(at('AB'))
  told(reader.connection)
  hub.leave(one.window)
  pass()
  assert.deepEqual(told(reader.connection), [])
  hub.leave(other.window)
  pass()
  assert.deepEqual(told(reader.connection), ['main: c1 gone'])
})

test('a shared stream shows only windows of its own key, and all disappear with it', async () => {
  const { hub, join, told, pass } = openPage()
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
  pass()
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
  const { hub, join, ask, pass } = openPage()
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
  assert.deepEqual(await poll(), ['main: w1 AB'])
  pass()
  assert.deepEqual(await poll(), ['main all: w1 AB'])
  hub.leave(author.window)
  pass()
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
  hub.left('w9', 3, true)
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
  assert.equal(frame.windows.length, maxShownWindows)
  assert.ok(frame.windows.some(({ state }) => (state as ShownState).name === 'Ada'))
})

test('when there are too many windows, those that moved last are shown', async () => {
  const { join } = openPage()
  const windows = []
  for (let index = 0; index < maxShownWindows + 2; index += 1) {
    windows.push(await join({ id: `w${index}`, owner: `o${index}` }))
  }
  for (const { show } of windows) show(at('AA'))
  windows[0]?.show(at('AB'))
  const late = await join({ id: 'late', owner: 'late' })
  const [frame] = late.connection.frames.flatMap((each) => (each.type === 'awareness' ? [each] : []))
  const names = frame?.windows.map(({ window }) => window) ?? []
  assert.equal(names.length, maxShownWindows)
  assert.deepEqual([names.at(-1), names.includes('w1'), names.includes('w2')], ['w0', false, false])
})

test('a poll after a window was displaced returns the full state once', async () => {
  const { join, ask, told } = openPage()
  const reader = await join({ id: 'w1' })
  const poll = async (isFirst = false) =>
    shownIn(framesOf(await ask({ id: 'w9' }, { isFirst, cursor: 'life1:0' })))
  await poll(true)
  for (let n = 0; n <= maxShownWindows; n += 1) {
    const { show } = await join({ id: `x${n}` })
    show(at(`${n}`))
    told(reader.connection)
  }
  const [frame = ''] = await poll()
  assert.equal(frame.split(',').length, maxShownWindows)
  assert.equal((await poll()).length, 0)
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

/** As on an application's server. */
const withUser = (id: string, user: string): FakePlace => ({ id, owner: id, user })

test('a state carries the user that the application names, and no one speaks for another', async () => {
  const { hub, join, time } = openPage()
  const ann = await join(withUser('a1', 'ann'))
  const eve = await join(withUser('e1', 'eve'))
  const reader = await join(withUser('r1', 'ben'))
  hub.show(ann.window, { state: { client: 7, clock: 1, state: {} } })
  hub.show(eve.window, { state: { client: 7, clock: 99, state: {}, user: 'ann' } })
  time.advance(60)
  const late = await join(withUser('r2', 'ben'))
  const framed = [reader, late].map(({ connection }) =>
    connection.frames.flatMap((frame) => (frame.type === 'awareness' ? frame.windows : [])),
  )
  for (const windows of framed)
    assert.deepEqual(
      windows.map(({ window, user }) => [window, user]),
      [
        ['a1', 'ann'],
        ['e1', 'eve'],
      ],
    )
})

test('a name that comes back with another user does not keep what the former user showed', async () => {
  const { join, told, time, hub } = openPage()
  const reader = await join(withUser('r1', 'ben'))
  const first = await join({ ...withUser('a1', 'ann'), opening: 1 })
  first.show(at('AA'))
  told(reader.connection)
  hub.leave(first.window)
  const second = await join({ ...withUser('a1', 'eve'), opening: 2 })
  assert.deepEqual(told(reader.connection), ['main: a1 gone'])
  second.show(at('AA'))
  time.advance(60)
  const [frame] = reader.connection.frames.splice(0)
  assert.deepEqual(frame?.type === 'awareness' && frame.windows[0]?.user, 'eve')
})

const readers = 90
const large = (n: number) => ({ ...at('x'.repeat(4000)), client: n })

/** Bytes of awareness that each connection got. */
const bytesIn = ({ frames }: FakeConnection) =>
  Buffer.byteLength(JSON.stringify(frames.filter(({ type }) => type === 'awareness')))

for (const [how, placeOf] of [
  ['one user', (n: number) => withUser(`e${n}`, 'eve')],
  ['many users', (n: number) => withUser(`e${n}`, `eve${n}`)],
  ['free names', (n: number): FakePlace => ({ id: `e${n}`, owner: null })],
  ['one key', (n: number): FakePlace => ({ id: `${'o'.repeat(22)}.e${n}`, owner: 'o'.repeat(22) })],
] as const)
  test(`readers of ninety windows of ${how} that show 4 kB at each move get no more than the budget, and a calm window is not late`, async () => {
    const stateBytesPerSecond = 2_000_000
    const { join, time } = openPage({ stateBytesPerSecond, maxWindows: 200 })
    const calm = await join(withUser('calm', 'ann'))
    const reader = await join(withUser('reader', 'ben'))
    const attackers = []
    for (let n = 1; n < readers; n += 1) attackers.push(await join(placeOf(n)))
    const startAt = time.now()
    let bytes = 0
    const late: number[] = []
    let waiting: { readonly word: string; readonly since: number } | null = null
    for (let turn = 0; turn < 300; turn += 1) {
      for (const { show, connection } of attackers) {
        show(large(turn))
        connection.frames.length = 0
      }
      if (turn % 30 === 0) {
        waiting = { word: `calm${turn}`, since: time.now() }
        calm.show(at(waiting.word))
      }
      time.advance(100)
      bytes += bytesIn(reader.connection)
      const heard = JSON.stringify(reader.connection.frames.splice(0))
      if (!waiting || !heard.includes(waiting.word)) continue
      late.push(time.now() - waiting.since)
      waiting = null
    }
    assert.equal(late.length, 10)
    assert.ok(Math.max(...late) <= 1000, `${late}`)
    const perSecond = (bytes * (readers + 1)) / ((time.now() - startAt) / 1000)
    assert.ok(perSecond <= stateBytesPerSecond, `${perSecond}`)
  })

test('a state beyond the budget is not refused: the newest is shown later', async () => {
  const { join, time, hub } = openPage({ stateBytesPerSecond: 65_536, maxWindows: 200 })
  const author = await join({ id: 'w1', owner: 'o1' })
  const reader = await join({ id: 'w2', owner: 'o2' })
  for (let move = 0; move < 100; move += 1) {
    author.show(large(move))
    time.advance(10)
  }
  const shown = () =>
    reader.connection.frames.flatMap((frame) =>
      frame.type === 'awareness' ? frame.windows.map(({ state }) => (state as ShownState).client) : [],
    )
  assert.ok(shown().length < 10, `${shown()}`)
  time.advance(10_000)
  assert.equal(shown().at(-1), 99)
  assert.ok(bytesIn(reader.connection) < 65_536)
  // A window that leaves meanwhile does not come back.
  author.show(large(100))
  for (let move = 0; move < 10; move += 1) author.show(large(move))
  author.show(null)
  time.advance(60)
  reader.connection.frames.length = 0
  time.advance(20_000)
  assert.deepEqual(shown(), [])
  assert.equal(hub.windowCount(), 2)
})

test('the states of a channel take a bounded amount of memory, at the cost of whoever shows the most', async () => {
  const { join, time, hub } = openPage({ stateBytesPerSecond: 1e9, maxWindows: 300 })
  const ann = await join({ id: 'a1', owner: 'ann' })
  ann.show(at('AA'))
  const eve = await join({ id: 'e1', owner: 'e1' })
  const owner = 'o'.repeat(22)
  const stream = await join({ id: `${owner}.s`, owner })
  for (let n = 0; n < 100; n += 1)
    hub.show(stream.window, { window: `${owner}.${n}`, state: { ...large(n), name: 'x'.repeat(20_000) } })
  eve.show(at('BB'))
  time.advance(60)
  const late = await join({ id: 'late', owner: 'late' })
  const windows = late.connection.frames.flatMap((frame) =>
    frame.type === 'awareness' ? frame.windows.map(({ window }) => window) : [],
  )
  assert.ok(windows.includes('a1') && windows.includes('e1'))
  assert.ok(bytesIn(late.connection) < 900_000, `${bytesIn(late.connection)}`)
})

test('large states take the place of large ones, and of no small one', async () => {
  const { join, time } = openPage({ stateBytesPerSecond: 1e9, maxWindows: 300 })
  const show = async (id: string, name: string) => (await join({ id, owner: id })).show(at('AA', name))
  await show('small', '')
  for (let n = 1; n <= 20; n += 1) await show(`large${n}`, 'x'.repeat(65_000))
  await show('largest', 'x'.repeat(65_400))
  await show('newcomer', '')
  time.advance(60)
  const { connection } = await join({ id: 'late', owner: 'late' })
  const [frame] = connection.frames.filter(({ type }) => type === 'awareness') as AwarenessFrame[]
  assert.deepEqual(
    frame?.windows.map(({ window }) => window),
    ['small', ...Array.from({ length: 12 }, (_, place) => `large${place + 9}`), 'newcomer'],
  )
})
