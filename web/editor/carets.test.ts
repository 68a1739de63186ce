// Carets are drawn after a frame's layout, also after frames that were skipped.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { JSDOM } from 'jsdom'
import { createManualTime } from '../../server/wire/testing.ts'

const { window } = new JSDOM('<div><div id="root"></div></div>')

/** Reports another width at `deliver`, as a browser does once a frame. */
class WidthObserver {
  static all: WidthObserver[] = []
  readonly #tell: () => void
  #element: HTMLElement | null = null
  #width = ''
  constructor(tell: () => void) {
    this.#tell = tell
    WidthObserver.all.push(this)
  }
  observe(element: HTMLElement) {
    this.#element = element
    this.#width = element.style.width
  }
  disconnect() {
    this.#element = null
  }
  static deliver() {
    for (const observer of WidthObserver.all) {
      const width = observer.#element?.style.width ?? observer.#width
      if (width === observer.#width) continue
      observer.#width = width
      observer.#tell()
    }
  }
}

const frames: (() => void)[] = []
let Carets: typeof import('./carets.ts').Carets
before(async () => {
  for (const name of ['document', 'AbortController'])
    Object.assign(globalThis, { [name]: Reflect.get(window, name) })
  Object.assign(window.document, { fonts: new window.EventTarget() })
  Object.assign(globalThis, {
    ResizeObserver: WidthObserver,
    requestAnimationFrame: (run: () => void) => frames.push(run),
    cancelAnimationFrame: () => undefined,
  })
  ;({ Carets } = await import('./carets.ts'))
})
after(() => window.close())

test('however often a redraw was requested without a frame, the next frame draws once', () => {
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
  const run = () => {
    for (const frame of frames.splice(0)) frame()
  }
  for (const times of [1, 2, 3, 4, 1]) {
    drawn = 0
    for (let time = 0; time < times; time += 1) {
      carets.redraw()
      // As a hidden page's timer does.
      run()
    }
    assert.equal(drawn, 0)
    WidthObserver.deliver()
    assert.equal(drawn, 1, `after ${times}`)
    WidthObserver.deliver()
    assert.equal(drawn, 1)
  }
  carets.stop()
  carets.redraw()
  assert.equal(frames.length, 0)
})
