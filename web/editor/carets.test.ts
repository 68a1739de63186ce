// Carets are drawn once a frame, while the page is visible.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { JSDOM } from 'jsdom'
import { createManualTime } from '../../protocol/testing.ts'

const { window } = new JSDOM('<div><div id="root"></div></div>')

class SilentObserver {
  readonly observe = () => undefined
  readonly disconnect = () => undefined
}

const frames: (() => void)[] = []
let Carets: typeof import('./carets.ts').Carets
before(async () => {
  for (const name of ['document', 'AbortController'])
    Object.assign(globalThis, { [name]: Reflect.get(window, name) })
  Object.assign(window.document, { fonts: new window.EventTarget() })
  Object.assign(globalThis, {
    ResizeObserver: SilentObserver,
    requestAnimationFrame: (run: () => void) => frames.push(run),
    cancelAnimationFrame: () => undefined,
  })
  ;({ Carets } = await import('./carets.ts'))
})
after(() => window.close())

function show(isVisible: boolean): void {
  Object.defineProperty(window.document, 'hidden', { value: !isVisible, configurable: true })
  window.document.dispatchEvent(new window.Event('visibilitychange'))
}

function openCarets() {
  const root = window.document.querySelector<HTMLElement>('#root') ?? assert.fail('no root')
  let drawn = 0
  const carets = new Carets({
    root,
    rectsOf: () => [],
    carets: () => {
      drawn += 1
      return []
    },
    timers: createManualTime(),
  })
  /** How often they were drawn in the next frame. */
  const drawnInFrame = () => {
    drawn = 0
    for (const frame of frames.splice(0)) frame()
    return drawn
  }
  return { carets, drawnInFrame }
}

test('they are drawn at once, and then once a frame, however often a redraw is requested', () => {
  show(true)
  const { carets, drawnInFrame } = openCarets()
  assert.equal(drawnInFrame(), 1)
  for (const times of [1, 3]) {
    for (let time = 0; time < times; time += 1) carets.redraw()
    assert.equal(drawnInFrame(), 1, `after ${times}`)
  }
  assert.equal(drawnInFrame(), 0)
  carets.stop()
  carets.redraw()
  assert.equal(drawnInFrame(), 0)
})

test('a hidden page draws them when it is shown again', () => {
  show(false)
  const { carets, drawnInFrame } = openCarets()
  carets.redraw()
  assert.equal(drawnInFrame(), 0)
  show(true)
  assert.equal(drawnInFrame(), 1)
  carets.stop()
})
