import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Opening, Transports, WebTransport } from '../../client/transports.ts'
import type { Draft } from '../../protocol/messages.ts'
import { type Mode, modes } from '../../protocol/modes.ts'
import { createManualTime } from '../../protocol/testing.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { failureOf, type Plan, type Turn, usualPlan } from './comparison.ts'
import { compare, type MeasuringParts, measureTurn, type Progress } from './runner.ts'

const [mode] = modes as readonly [Mode, ...Mode[]]
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** A server on which a message takes `delayMs`, to its sender `echoMs`, or never arrives if `loses` says so. */
function stage({
  delayMs = 7,
  echoMs = 7,
  ackMs = 0,
  opens = true,
  loses = (_n: number): boolean => false,
} = {}) {
  const time = createManualTime()
  const open = new Set<Opening>()
  const sent: Draft[] = []
  const transport: WebTransport = {
    name: mode.transport,
    open(opening) {
      open.add(opening)
      const welcome = {
        type: 'welcome',
        window: '',
        cursor: 'a:0',
        recovered: true,
        heartbeatMs: 15_000,
        at: 0,
        stateBytes: 4096,
      } as const
      if (opens) time.later(() => opening.onFrame({ ...welcome, http: mode.http }, time.now()), 3)
      return {
        async send(draft) {
          sent.push(draft)
          const message = { ...draft, seq: sent.length, acceptedAt: 0 }
          if (!loses(sent.length))
            for (const each of open) {
              const isEcho = each.query.get('window') === draft.from
              time.later(
                () => each.onFrame({ type: 'message', message }, time.now()),
                isEcho ? echoMs : delayMs,
              )
            }
          if (ackMs > 0) await new Promise<void>((resolve) => time.later(resolve, ackMs))
          return { type: 'stored', id: draft.id, seq: sent.length }
        },
        beat: () => undefined,
        sendAwareness: () => undefined,
        close: () => void open.delete(opening),
      }
    },
  }
  let names = 0
  const parts: MeasuringParts = {
    transports: { [mode.transport]: transport } as unknown as Transports,
    baseFor: () => 'https://localhost/api',
    polling: { intervalMs: 150, holdMs: 300 },
    key: 'k',
    heldStreams: 3,
    newName() {
      names += 1
      return `p${names}`
    },
    timers: time,
    random: createSeededRandom(2),
  }
  /** Runs the clock until the work is done. */
  async function passed<Value>(work: Promise<Value>): Promise<Value> {
    let isDone = false
    const end = () => {
      isDone = true
    }
    work.then(end, end)
    for (let ms = 0; ms < 30_000 && !isDone; ms += 1) {
      time.advance(1)
      await settled()
    }
    return work
  }
  return { time, parts, open, sent, passed }
}

const plan: Plan = { ...usualPlan, probes: 4, warmUp: 1 }
const measured = (on: ReturnType<typeof stage>) =>
  on.passed(measureTurn(mode, plan, on.parts, new AbortController().signal))

test('a turn times each probe from departure to arrival, excludes the warm-up, and closes both connections', async () => {
  const on = stage()
  const turn = await measured(on)
  assert.deepEqual(turn.times, [7, 7, 7, 7])
  assert.deepEqual([turn.openMs, turn.serverHttp, turn.closing], [3, mode.http, null])
  assert.deepEqual([...new Set(on.sent.map(({ channel, kind }) => `${channel} ${kind}`))], ['probes probe'])
  assert.deepEqual([on.sent.length, on.open.size], [5, 0])
  const gaps = on.sent.slice(1).map(({ at }, index) => at - (on.sent[index]?.at ?? 0))
  assert.ok(new Set(gaps).size > 1, `${gaps}`)
})

test('the echo to the sender is not timed, only what another window would see', async () => {
  assert.deepEqual((await measured(stage({ echoMs: 1 }))).times, [7, 7, 7, 7])
})

test('a probe that does not arrive in time is missing', async () => {
  const turn = await measured(stage({ loses: (n) => n === 3 }))
  assert.deepEqual([turn.times, failureOf(turn)], [[7, null, 7, 7], 'missing'])
})

test('a mode that does not open in time has no times', async () => {
  const on = stage({ opens: false })
  const turn = await measured(on)
  assert.deepEqual([turn.openMs, turn.times, failureOf(turn), on.open.size], [null, [], 'late', 0])
})

test('over a slow path a turn has fewer probes, and none queues behind another', async () => {
  const on = stage({ delayMs: 250, ackMs: 260 })
  const turn = await measured(on)
  assert.deepEqual(turn.times, [250, 250, 250])
  assert.equal(turn.roundTripMs, 260)
})

test('a stopped turn rejects, and closes both connections', async () => {
  const on = stage()
  const ending = new AbortController()
  const turn = measureTurn(mode, plan, on.parts, ending.signal)
  on.time.advance(1)
  assert.equal(on.open.size, 2)
  ending.abort()
  await assert.rejects(turn, { name: 'AbortError' })
  assert.equal(on.open.size, 0)
})

test('a mode whose connections are held by other windows is full, and is not opened', async () => {
  const on = stage()
  const limited = modes.find(({ windowsPerBrowser }) => windowsPerBrowser !== null)
  assert.ok(limited?.windowsPerBrowser)
  const parts = { ...on.parts, heldStreams: limited.windowsPerBrowser - 1 }
  const turn = await measureTurn(limited, plan, parts, new AbortController().signal)
  assert.deepEqual([failureOf(turn), on.sent.length, on.time.pending()], ['full', 0, 0])
})

function running(change: { rounds?: number; modes?: readonly Mode[]; fails?: Mode } = {}) {
  const order: string[] = []
  const told: Progress[] = []
  const onTurn: () => void = () => undefined
  const state = { isVisible: true, onTurn, listeners: new Set<() => void>() }
  const ending = new AbortController()
  const done = compare({
    modes: change.modes ?? modes.slice(0, 3),
    plan: { ...plan, rounds: change.rounds ?? 2 },
    timers: createManualTime(),
    random: createSeededRandom(9),
    async measure(each, signal): Promise<Turn> {
      order.push(each.name)
      state.onTurn()
      await settled()
      signal.throwIfAborted()
      const openMs = each === change.fails ? null : 1
      return { mode: each, openMs, serverHttp: null, roundTripMs: 1, closing: null, times: [1] }
    },
    visibility: {
      isVisible: () => state.isVisible,
      onChange(run) {
        state.listeners.add(run)
        return () => state.listeners.delete(run)
      },
    },
    onProgress: (progress) => told.push(progress),
    signal: ending.signal,
  })
  const show = (isVisible: boolean) => {
    state.isVisible = isVisible
    for (const listener of state.listeners) listener()
  }
  return { order, told, state, ending, done, show }
}

test('each mode has a turn in each round', async () => {
  const { order, done } = running({ rounds: 3 })
  assert.equal((await done).length, 3)
  for (const round of [0, 1, 2]) assert.equal(new Set(order.slice(round * 3, round * 3 + 3)).size, 3)
})

test('a mode that does not open is not tried again in later rounds', async () => {
  const { order, done } = running({ rounds: 3, fails: mode })
  const rounds = await done
  assert.equal(order.filter((name) => name === mode.name).length, 1)
  for (const turns of rounds) assert.equal(turns.length, 3)
})

test('pauses while the page is hidden, and restarts the round', async () => {
  const { order, told, state, done, show } = running({ rounds: 1 })
  state.onTurn = () => {
    if (order.length === 2) show(false)
  }
  for (let turn = 0; turn < 20; turn += 1) await settled()
  assert.deepEqual([order.length, told.at(-1)?.isPaused, told.at(-1)?.current], [2, true, []])
  show(true)
  assert.equal((await done).length, 1)
  assert.equal(order.length, 5)
})

test('when stopped, keeps the complete rounds', async () => {
  const { order, state, ending, done } = running({ rounds: 50 })
  state.onTurn = () => {
    if (order.length === 8) ending.abort()
  }
  assert.equal((await done).length, 2)
})
