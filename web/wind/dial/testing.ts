// A canvas context that notes what is drawn on it, with the transformation worked out: where things are, not how.

import type { DialLook } from './dial-look.ts'
import type { DialContext } from './dial-units.ts'

export interface Drawn {
  readonly kind: 'text' | 'stroke' | 'fill'
  /** The text, or for a path nothing. */
  readonly text: string
  readonly colour: string
  readonly font: string
  /** Where it is on the canvas: the text's anchor, or the corners of the path. */
  readonly points: readonly (readonly [x: number, y: number])[]
  /** Angles of an arc of the path, in degrees clockwise from north; null without one. */
  readonly arc: readonly [from: number, to: number] | null
  readonly lineWidth: number
}

export interface RecordingContext extends DialContext {
  readonly drawn: Drawn[]
  /** How often the canvas was cleared. */
  readonly clears: () => number
}

interface State {
  readonly x: number
  readonly y: number
  readonly scale: number
  readonly turn: number
}

/** Digits are 0.6 of the font's size wide but for 1, which is 0.3; all else is 0.5. */
export function createRecordingContext(): RecordingContext {
  const drawn: Drawn[] = []
  const saved: State[] = []
  let state: State = { x: 0, y: 0, scale: 1, turn: 0 }
  let points: [number, number][] = []
  let arc: [number, number] | null = null
  let clears = 0

  function place(x: number, y: number): [number, number] {
    const { turn, scale } = state
    const [cos, sin] = [Math.cos(turn), Math.sin(turn)]
    return [state.x + scale * (x * cos - y * sin), state.y + scale * (x * sin + y * cos)]
  }
  function note(kind: Drawn['kind'], text: string, at: readonly [number, number][]): void {
    const colour = String(kind === 'stroke' ? context.strokeStyle : context.fillStyle)
    const lineWidth = context.lineWidth * state.scale
    drawn.push({ kind, text, colour, font: context.font, points: at, arc, lineWidth })
  }

  const context: RecordingContext = {
    drawn,
    clears: () => clears,
    lineWidth: 1,
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
    measureText(text) {
      const size = Number(/([\d.]+)px/.exec(context.font)?.[1])
      const width = Array.from(text).reduce((sum, sign) => sum + widthOf(sign), 0)
      return { width: width * size } as TextMetrics
    },
  }
  return context
}

function widthOf(sign: string): number {
  if (sign === '1') return 0.3
  return sign >= '0' && sign <= '9' ? 0.6 : 0.5
}

/** Each colour is its own name. */
export const namedLook: DialLook = {
  ink: 'ink',
  inkSoft: 'ink-soft',
  paper: 'paper',
  track: 'track',
  tick: 'tick',
  pointer: 'pointer',
  spread: 'spread',
  hollow: 'hollow',
  caution: 'caution',
  family: 'sans-serif',
}
