// When the history is drawn, and where lines, points, words and cursor are on the canvases.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type PastWind, readSnapshot, WindHistory } from '../../app/shared/wind-history.ts'
import { measured, startAt } from '../../app/shared/wind-testing.ts'
import { createManualTime } from '../../protocol/testing.ts'
import { createStore, firstView, type HistoryMinutes } from '../store.ts'
import { createRecordingContext, fakeCanvas, fakePage, namedLookOf } from './canvas-testing.ts'
import {
  drawDirection,
  drawSpeed,
  HistoryPlots,
  type Picture,
  plotProperties,
  secondsAt,
} from './history-plots.ts'
import { type Column, historyModel } from './history-view-model.ts'
import { createWindFeed } from './wind-feed.ts'

/** An element to put the plots in. */
function place() {
  const { canvas, context } = fakeCanvas()
  const element = {
    ownerDocument: { createElement: () => canvas },
    append: () => undefined,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  } as unknown as HTMLElement
  return { element, canvas, context }
}

/** A window whose frames occur when the test says so, and whose clock stands still. */
function open(t: TestContext) {
  const page = fakePage(t)
  const time = createManualTime(startAt)
  const store = createStore(firstView('sse/2'))
  const feed = createWindFeed(store, {
    ...time,
    later: (run) => clearImmediate.bind(null, setImmediate(run)),
  })
  const frames = new Set<{ run: (now: number) => void; afterMs: number }>()
  const words: { summary: string; moment: string | null }[] = []
  const speed = place()
  const direction = place()
  const plots = new HistoryPlots({
    speed: speed.element,
    direction: direction.element,
    store,
    history: feed.history,
    clock: time.now,
    display: {
      isHidden: () => false,
      onSeen: () => () => undefined,
      requestFrame(run, afterMs) {
        const frame = { run, afterMs }
        frames.add(frame)
        return () => frames.delete(frame)
      },
    },
    onWords: (summary, moment) => words.push({ summary, moment }),
  })
  t.after(() => plots.stop())
  const resize = (width: number) => {
    for (const { canvas } of [speed, direction]) page.resize(canvas, width, 150)
  }
  resize(600)
  return {
    plots,
    feed,
    words,
    resize,
    drawings: () => speed.context.clears(),
    /** Columns of the newest speed line. */
    columns: () => speed.context.drawn.findLast(({ lineWidth }) => lineWidth === 1.75)?.points.length,
    waits: () => Array.from(frames, ({ afterMs }) => afterMs),
    frame() {
      const due = [...frames]
      frames.clear()
      for (const { run } of due) run(0)
    },
    take(seq: number) {
      const at = startAt + seq * 250
      const of = { id: `sensor-${seq}`, channel: 'wind', kind: 'reading', from: 'sensor' } as const
      feed.handle({ ...of, seq, body: measured(6, 90), at, acceptedAt: at }, time.now())
    },
  }
}

/** Half an hour, one reading a second. */
function pastHalfHour(): PastWind {
  const history = new WindHistory()
  for (let second = -1800; second < 0; second += 1) history.take(measured(9, 90), startAt + second * 1000)
  return readSnapshot(JSON.parse(JSON.stringify(history.snapshot({ seq: 1, faultAt: null }))))
}

test('the hour before the window opened is drawn with the first frame after it arrives', async (t) => {
  const { feed, columns, words, waits, frame, take } = open(t)
  take(2)
  frame()
  assert.equal(columns(), 1)
  assert.deepEqual(waits(), [])
  await feed.lookBack(async () => pastHalfHour())
  assert.deepEqual(waits(), [0], 'no frame was requested')
  frame()
  assert.ok((columns() ?? 0) > 100, `${columns()} columns`)
  assert.match(words.at(-1)?.summary ?? '', /to 9\.0 m\/s/)
})

test('a reading that moves the wind by less than a pixel waits for the next', (t) => {
  const { drawings, waits, frame, take } = open(t)
  take(2)
  frame()
  const before = drawings()
  take(3)
  assert.deepEqual(waits(), [])
  assert.equal(drawings(), before)
})

test('a resize of either plot redraws it at once', (t) => {
  const { drawings, resize } = open(t)
  const before = drawings()
  resize(640)
  assert.equal(drawings(), before + 2)
})

test('the cursor steps through the columns, gives their values, and can be removed', async (t) => {
  const { plots, feed, words, frame } = open(t)
  assert.deepEqual(plots.step(-1), { words: 'No readings in the last 10 min.', seconds: 0 })
  await feed.lookBack(async () => pastHalfHour())
  frame()
  const newest = plots.step(-1)
  assert.match(newest.words, /^[\d:]{8} {2}9\.0 m\/s, gust 9\.0, 90°$/)
  assert.equal(words.at(-1)?.moment, newest.words)
  assert.ok(plots.step(-10).seconds < newest.seconds - 9)
  assert.deepEqual(plots.step(Number.POSITIVE_INFINITY), newest)
  plots.leave()
  assert.equal(words.at(-1)?.moment, null)
})

/** The area of both: 44 to 244 across; the speed's is 10 to 110 from the top. */
const size = { width: 260, height: 118 }
const timeAxisOf = (minutes: HistoryMinutes) =>
  historyModel(new WindHistory(), { minutes, nowAt: 0, unit: 'M', width: 260 }).timeAxis
const at = (seconds: number) => ({ seconds, from: seconds, to: seconds })
const hole = { ...at(-30), speed: null, gust: null, direction: null }
const underCursor = { ...at(-15), speed: 6, gust: 8, direction: 270 }
const columns: Column[] = [
  { ...at(-60), speed: 2, gust: null, direction: 0 },
  { ...at(-45), speed: 4, gust: 8, direction: 90 },
  hole,
  underCursor,
  { ...at(0), speed: 8, gust: 10, direction: null },
]
const picture: Picture = {
  columns,
  timeAxis: timeAxisOf(1),
  speedAxis: { top: 10, ticks: [0, 5, 10] },
  look: namedLookOf(plotProperties),
  cursor: null,
}

function drawnBy(draw: typeof drawSpeed, change: Partial<Picture> = {}, height = size.height) {
  const context = createRecordingContext()
  draw(context, { ...size, height }, { ...picture, ...change })
  const of = (colour: string) => context.drawn.filter((one) => one.colour === colour)
  return { of, words: context.drawn.filter(({ kind }) => kind === 'text'), clears: context.clears() }
}

test('the speed is a line from 60 seconds ago to now, with a gap where nothing was measured', () => {
  const { of, clears } = drawnBy(drawSpeed)
  assert.equal(clears, 1)
  const [line] = of('line')
  assert.deepEqual(line?.points, [
    [44, 90],
    [94, 70],
    [194, 50],
    [244, 30],
  ])
  assert.deepEqual(of('gust')[0]?.points.length, 3)
})

test('the band lies between gust and speed, where both exist', () => {
  const { of } = drawnBy(drawSpeed)
  assert.deepEqual(
    of('band').map(({ points }) => points),
    [
      [
        [94, 30],
        [94, 70],
      ],
      [
        [194, 30],
        [244, 10],
        [244, 30],
        [194, 50],
      ],
    ],
  )
})

test('tick labels are at their lines, time labels below the direction plot only', () => {
  const speed = drawnBy(drawSpeed).words
  assert.deepEqual(
    speed.map(({ text, points }) => [text, ...(points[0] ?? [])]),
    [
      ['0', 36, 110],
      ['5', 36, 60],
      ['10', 36, 10],
    ],
  )
  const direction = drawnBy(drawDirection, {}, 142).words.map(({ text }) => text)
  assert.deepEqual(direction, ['N', 'E', 'S', 'W', 'N', '60 s', '45', '30', '15', 'now'])
})

test('the direction is drawn as points, none in a calm or a gap', () => {
  const [points] = drawnBy(drawDirection, {}, 142).of('points')
  assert.equal(new Set(points?.points.map(([, y]) => y)).size, 3)
})

test('the cursor is a line, with a point on each value of its column', () => {
  const { of } = drawnBy(drawSpeed, { cursor: underCursor })
  assert.deepEqual(of('text').find(({ kind }) => kind === 'stroke')?.points, [
    [194, 10],
    [194, 110],
  ])
  assert.deepEqual(
    of('line')
      .filter(({ kind }) => kind === 'fill')
      .map(({ points }) => points.map(([, y]) => y)),
    [[30, 30, 50, 50]],
  )
  const inHole = drawnBy(drawSpeed, { cursor: hole })
  assert.deepEqual(inHole.of('line').filter(({ kind }) => kind === 'fill')[0]?.points, [])
})

test('an x position in the plot is a moment; beside the plot it is none', () => {
  assert.equal(secondsAt(44, 260, timeAxisOf(1)), -60)
  assert.equal(secondsAt(244, 260, timeAxisOf(10)), 0)
  assert.equal(secondsAt(144, 260, timeAxisOf(1)), -30)
  assert.equal(secondsAt(20, 260, timeAxisOf(1)), null)
  assert.equal(secondsAt(250, 260, timeAxisOf(1)), null)
})
