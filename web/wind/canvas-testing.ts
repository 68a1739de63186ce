// Fakes of canvas and page; the context records everything drawn, in canvas coordinates.

import type { TestContext } from 'node:test'

export interface Drawn {
  readonly kind: 'text' | 'stroke' | 'fill'
  /** Empty for paths. */
  readonly text: string
  readonly colour: string
  readonly font: string
  /** Canvas coordinates: the text's anchor or the path's corners. */
  readonly points: readonly (readonly [x: number, y: number])[]
  /** In degrees clockwise from north; null without an arc. */
  readonly arc: readonly [from: number, to: number] | null
  readonly lineWidth: number
  /** 0 to 1. */
  readonly opacity: number
}

interface RecordingContext extends CanvasRenderingContext2D {
  readonly drawn: Drawn[]
  readonly clears: () => number
}

interface State {
  readonly x: number
  readonly y: number
  readonly scale: number
  readonly turn: number
}

/** Glyph widths in font sizes: `1` 0.3, other digits 0.6, everything else 0.5. */
export function createRecordingContext(): RecordingContext {
  const drawn: Drawn[] = []
  const saved: State[] = []
  let state: State = { x: 0, y: 0, scale: 1, turn: 0 }
  let points: [number, number][] = []
  let arc: [number, number] | null = null
  let clears = 0

  function place(x: number, y: number): [number, number] {
    const { turn, scale } = state
    const cos = Math.cos(turn)
    const sin = Math.sin(turn)
    return [state.x + scale * (x * cos - y * sin), state.y + scale * (x * sin + y * cos)]
  }
  function note(kind: Drawn['kind'], text: string, at: readonly [number, number][]): void {
    const colour = String(kind === 'stroke' ? context.strokeStyle : context.fillStyle)
    const lineWidth = context.lineWidth * state.scale
    const { font, globalAlpha: opacity } = context
    drawn.push({ kind, text, colour, font, points: at, arc, lineWidth, opacity })
  }

  const context = {
    drawn,
    clears: () => clears,
    lineWidth: 1,
    globalAlpha: 1,
    lineJoin: 'miter',
    strokeStyle: '',
    fillStyle: '',
    font: '10px sans-serif',
    textAlign: 'start',
    textBaseline: 'alphabetic',
    save: () => void saved.push(state),
    restore() {
      state = saved.pop() ?? state
    },
    translate(x, y) {
      const [left, top] = place(x, y)
      state = { ...state, x: left, y: top }
    },
    scale(by) {
      state = { ...state, scale: state.scale * by }
    },
    rotate(by) {
      state = { ...state, turn: state.turn + by }
    },
    rect: () => undefined,
    clip: () => undefined,
    clearRect() {
      clears += 1
    },
    beginPath() {
      points = []
      arc = null
    },
    closePath: () => undefined,
    moveTo: (x, y) => void points.push(place(x, y)),
    lineTo: (x, y) => void points.push(place(x, y)),
    quadraticCurveTo: (_x, _y, x, y) => void points.push(place(x, y)),
    arc(x, y, radius, from, to) {
      const degrees = (angle: number) => ((angle + state.turn) * 180) / Math.PI + 90
      arc = [degrees(from), degrees(to)]
      points.push(place(x + radius, y))
    },
    stroke: () => note('stroke', '', points),
    fill: () => note('fill', '', points),
    fillText: (text, x, y) => note('text', text, [place(x, y)]),
    measureText(text): TextMetrics {
      const size = Number(/([\d.]+)px/.exec(context.font)?.[1])
      const width = Array.from(text).reduce((sum, sign) => sum + widthOf(sign), 0)
      return { width: width * size } as TextMetrics
    },
  } satisfies Partial<RecordingContext>
  return context as unknown as RecordingContext
}

function widthOf(sign: string): number {
  if (sign === '1') return 0.3
  return sign >= '0' && sign <= '9' ? 0.6 : 0.5
}

/** Each part's name is its colour. */
export function namedLookOf<Part extends string>(
  properties: Readonly<Record<Part, string>>,
): Record<Part, string> {
  const entries = Object.keys(properties).map((part) => [part, part])
  return Object.fromEntries(entries) as Record<Part, string>
}

export function fakePage(t: TestContext, devicePixelRatio = 1) {
  const observers = new Map<unknown, (entries: readonly unknown[]) => void>()
  class ResizeObserver {
    readonly #onSizes: (entries: readonly unknown[]) => void
    constructor(onSizes: (entries: readonly unknown[]) => void) {
      this.#onSizes = onSizes
    }
    observe(canvas: unknown): void {
      observers.set(canvas, this.#onSizes)
    }
    disconnect(): void {
      for (const [canvas, onSizes] of observers) if (onSizes === this.#onSizes) observers.delete(canvas)
    }
  }
  const globals = {
    ResizeObserver,
    devicePixelRatio,
    getComputedStyle: () => ({ getPropertyValue: (property: string) => ` ${property} ` }),
    matchMedia: () => ({
      matches: false,
      addEventListener: () => undefined,
      removeEventListener: () => undefined,
    }),
  }
  Object.assign(globalThis, globals)
  t.after(() => {
    for (const name of Object.keys(globals)) Reflect.deleteProperty(globalThis, name)
  })
  return {
    observed: () => observers.size,
    /** `counted`: device pixels across; Safari reports none. */
    resize(canvas: unknown, width: number, height: number, counted?: number): void {
      const boxes = counted === undefined ? {} : { devicePixelContentBoxSize: [{ inlineSize: counted }] }
      observers.get(canvas)?.([{ contentRect: { width, height }, ...boxes }])
    },
  }
}

export function fakeCanvas() {
  const canvas = { width: 0, height: 0, getContext: () => context, remove: () => undefined }
  const context = Object.assign(createRecordingContext(), { canvas, setTransform: () => undefined })
  return { canvas, context: context as unknown as CanvasRenderingContext2D & RecordingContext }
}
