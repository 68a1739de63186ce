// Draws once a frame, never while idle or hidden, with as many pixels as the screen has.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type CanvasSize, createRedrawing, keepSharp } from './canvas.ts'
import { fakeCanvas, fakePage } from './canvas-testing.ts'

interface Request {
  readonly run: (now: number) => void
  readonly afterMs: number
}

/** A page whose frames occur when the test says so. */
function stage(againInMs: () => number | null = () => null) {
  const requests = new Set<Request>()
  const seen = new Set<() => void>()
  let drawings = 0
  let isHidden = false
  const drawing = createRedrawing(
    () => {
      drawings += 1
      return againInMs()
    },
    {
      isHidden: () => isHidden,
      onSeen(listener) {
        seen.add(listener)
        return () => seen.delete(listener)
      },
      requestFrame(run, afterMs) {
        const request = { run, afterMs }
        requests.add(request)
        return () => requests.delete(request)
      },
    },
  )
  return {
    drawing,
    drawings: () => drawings,
    waiting: () => requests.size,
    listeners: () => seen.size,
    waits: () => [...requests].map(({ afterMs }) => afterMs),
    frame() {
      const due = [...requests]
      requests.clear()
      for (const { run } of due) run(0)
    },
    hide(hidden: boolean) {
      isHidden = hidden
      if (!hidden) for (const listener of seen) listener()
    },
  }
}

test('a frame draws once however much changes, and not at all without a change', () => {
  const { drawing, drawings, frame, waiting } = stage()
  for (let change = 0; change < 20; change += 1) drawing.plan()
  assert.equal(waiting(), 1)
  frame()
  frame()
  assert.equal(drawings(), 1)
  assert.equal(waiting(), 0)
})

test('continues for as long and as often as the drawing requests', () => {
  let left = 3
  const { drawing, drawings, frame, waiting, waits } = stage(() => {
    left -= 1
    return left > 0 ? 33 : null
  })
  drawing.plan()
  frame()
  assert.deepEqual(waits(), [33])
  for (let count = 0; count < 10; count += 1) frame()
  assert.equal(drawings(), 3)
  assert.equal(waiting(), 0)
})

test('a change meanwhile does not wait for that', () => {
  const { drawing, frame, waits } = stage(() => 33)
  drawing.plan()
  frame()
  drawing.plan()
  assert.deepEqual(waits(), [0])
})

test('draws nothing while hidden, and once when visible again', () => {
  const { drawing, drawings, frame, hide, waiting } = stage()
  hide(true)
  for (let change = 0; change < 20; change += 1) drawing.plan()
  frame()
  assert.equal(waiting(), 0)
  hide(false)
  frame()
  frame()
  assert.equal(drawings(), 1)
})

test('becoming visible twice before a frame requests only one', () => {
  const { drawing, hide, waiting } = stage()
  drawing.plan()
  hide(false)
  hide(false)
  assert.equal(waiting(), 1)
})

test('hidden between the request and the frame, it draws when visible again', () => {
  const { drawing, drawings, frame, hide } = stage()
  drawing.plan()
  hide(true)
  frame()
  assert.equal(drawings(), 0)
  hide(false)
  frame()
  assert.equal(drawings(), 1)
})

test('becoming visible without changes draws nothing', () => {
  const { drawing, drawings, frame, hide } = stage()
  drawing.plan()
  frame()
  hide(true)
  hide(false)
  frame()
  assert.equal(drawings(), 1)
})

test('once stopped, nothing runs and no listeners remain', () => {
  const { drawing, drawings, frame, listeners } = stage()
  drawing.plan()
  drawing.stop()
  frame()
  assert.equal(drawings(), 0)
  assert.equal(listeners(), 0)
})

/** Pixels across of a square canvas with this side in CSS pixels and this count by the browser. */
function pixelsFor(t: TestContext, side: number, counted: number | undefined, pixelRatio: number): number {
  const page = fakePage(t, pixelRatio)
  const { canvas, context } = fakeCanvas()
  const sizes: CanvasSize[] = []
  const stop = keepSharp([context], (size) => sizes.push(size))
  page.resize(canvas, side, side, counted)
  assert.deepEqual(sizes, [{ width: side, height: side }])
  assert.equal(canvas.height, canvas.width)
  stop()
  assert.equal(page.observed(), 0)
  return canvas.width
}

test('a canvas has as many pixels as the browser counted', (t) => {
  assert.equal(pixelsFor(t, 200, 300, 1.5), 300)
  assert.equal(pixelsFor(t, 200.4, 301, 1.5), 301)
})

test('if the browser does not count, or counts another screen, the ratio determines the pixels', (t) => {
  assert.equal(pixelsFor(t, 200.4, undefined, 1.5), 301)
  assert.equal(pixelsFor(t, 256, 256, 2), 512)
})
