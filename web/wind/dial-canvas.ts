// The wind dial on its two canvases: card, spread, the last minute's trail, and a turning pointer.

import type { WindHistory } from '../../app/shared/wind-history.ts'
import { browserTimers } from '../../client/transports.ts'
import { vectorOf, wholeTurn } from '../../sensor/wind-units.ts'
import type { Store, WindView } from '../store.ts'
import { createRedrawing, displayOf, keepSharp, type Look, lookOf, onLookChange, stroke } from './canvas.ts'
import {
  type DialModel,
  dialModel,
  dialSentence,
  historyTimeAt,
  trailOf,
  windModel,
} from './wind-view-model.ts'

/** Interval of the staleness check and, without a change of state, of the text alternative. */
const ageingMs = 1000
const describingMs = 5000

/** 25 frames/s look smooth and leave CPU time for ten such windows. */
const turnFrameMs = 40

/** Keeps both canvases and the text alternative of `live` up to date. Returns the stop function. */
export function mountDial(
  card: HTMLCanvasElement,
  live: HTMLCanvasElement,
  store: Store,
  history: Pick<WindHistory, 'since'>,
): () => void {
  const cardContext = card.getContext('2d')
  const liveContext = live.getContext('2d')
  if (!cardContext || !liveContext) return () => undefined
  const pointer = new Pointer()
  const motion = matchMedia('(prefers-reduced-motion: reduce)')
  const display = displayOf(live)
  const drawLive = (now: number) => {
    if (!shown || side === 0) return null
    drawDial(liveContext, side, shown, pointer.angleAt(now), look)
    return pointer.isTurningAt(now) ? turnFrameMs : null
  }
  const redrawing = createRedrawing(drawLive, display)
  let look = lookOf(live, dialProperties)
  let side = 0
  let shown: DialModel | null = null
  let shownFor: WindView | null = null
  let describedAt = Number.NEGATIVE_INFINITY

  const drawAll = () => {
    if (side > 0) drawDialCard(cardContext, side, look)
    drawLive(performance.now())
  }

  function update(): void {
    const { wind } = store.view()
    shownFor = wind
    const now = browserTimers.now()
    const model = windModel(wind, now)
    const next = dialModel(model, wind.figures, trailOf(history, historyTimeAt(wind, now)))
    if (JSON.stringify(shown) === JSON.stringify(next)) return
    const isOtherState = shown?.state !== next.state || shown.isStale !== next.isStale
    if (isOtherState || now - describedAt >= describingMs) {
      describedAt = now
      live.setAttribute('aria-label', dialSentence(model, wind.figures))
    }
    pointer.turnTo(next.directionDegrees, performance.now(), motion.matches || display.isHidden())
    shown = next
    redrawing.plan()
  }

  const ageing = setInterval(update, ageingMs)
  const stops = [
    () => clearInterval(ageing),
    // A keystroke changes the store, but not the wind.
    store.subscribe(() => {
      if (store.view().wind !== shownFor) update()
    }),
    keepSharp([liveContext, cardContext], ({ width }) => {
      side = width
      // Synchronous: resizing clears the canvas.
      drawAll()
    }),
    onLookChange(() => {
      look = lookOf(live, dialProperties)
      drawAll()
    }),
    () => redrawing.stop(),
  ]
  update()
  return () => {
    for (const stop of stops) stop()
  }
}

export const dialProperties = {
  ink: '--ink',
  inkSoft: '--ink-soft',
  paper: '--paper',
  track: '--dial-track',
  tick: '--line-control',
  pointer: '--accent',
  spread: '--dial-spread',
  /** Outline of a stale pointer. */
  hollow: '--line-control',
  trail: '--accent',
  /** Least opacity of the trail. */
  trailKept: '--trail-kept',
  family: '--type-interface',
}

type DialLook = Look<typeof dialProperties>

/** Side of the dial in its own units; the origin is its centre. */
const dialSide = 240

/** Minimum side that fits the tens of degrees, CSS pixels. */
const roomyFrom = 320

/** CSS pixels. */
const minType = 11

/** In the dial's units. */
const typeSize = (usual: number, side: number) => Math.max(usual, (minType * dialSide) / side)

/** The static part. `side`: the dial's, CSS pixels. */
export function drawDialCard(context: CanvasRenderingContext2D, side: number, look: DialLook): void {
  inDialUnits(context, side, () => {
    strokeRing(context, 0, 360, look.track)
    for (let degrees = 0; degrees < 360; degrees += 10) {
      const isMain = degrees % 90 === 0
      context.beginPath()
      context.moveTo(...pointAt(degrees, 105.5))
      context.lineTo(...pointAt(degrees, degrees % 30 === 0 ? 113 : 109.5))
      stroke(context, isMain ? look.inkSoft : look.tick, isMain ? 2 : 1.25)
    }
    context.textBaseline = 'middle'
    for (const [quarter, letter] of [...'NESW'].entries()) {
      const [x, y] = pointAt(quarter * 90, 72)
      const [weight, colour] = quarter === 0 ? [700, look.ink] : [600, look.inkSoft]
      write(context, letter, [x, y + 0.5], `${weight} ${typeSize(15, side)}px ${look.family}`, colour)
    }
    for (let degrees = 30; degrees < 360 && side >= roomyFrom; degrees += 30)
      if (degrees % 90 !== 0)
        write(
          context,
          String(degrees),
          pointAt(degrees, 75),
          `400 ${typeSize(7.5, side)}px ${look.family}`,
          look.inkSoft,
        )
  })
}

/** Null hides the pointer. */
export function drawDial(
  context: CanvasRenderingContext2D,
  side: number,
  { directionDegrees, spread, trail, isStale }: DialModel,
  angleDegrees: number | null,
  look: DialLook,
): void {
  inDialUnits(context, side, () => {
    if (spread) {
      const { directionDegrees: mean, deviationDegrees: deviation } = spread
      strokeRing(context, mean - deviation, mean + deviation, look.spread)
    }
    drawTrail(context, trail, look)
    if (angleDegrees !== null) drawPointer(context, angleDegrees, isStale, look)
    if (directionDegrees === null) return
    context.textBaseline = 'middle'
    const font = `300 ${typeSize(44, side)}px ${look.family}`
    write(context, `${directionDegrees}°`, [0, 2], font, isStale ? look.inkSoft : look.ink)
  })
}

/** A line across the ring for each direction: the older, the fainter and the shorter. */
function drawTrail(context: CanvasRenderingContext2D, trail: DialModel['trail'], look: DialLook): void {
  for (const [step, directions] of trail.entries()) {
    const share = 1 - step / trail.length
    context.beginPath()
    for (const degrees of directions) {
      context.moveTo(...pointAt(degrees, 96 - 6 * share))
      context.lineTo(...pointAt(degrees, 96 + 6 * share))
    }
    context.globalAlpha = Math.max(Number(look.trailKept), 0.6 * share)
    stroke(context, look.trail, 1.5)
  }
  context.globalAlpha = 1
}

function inDialUnits(context: CanvasRenderingContext2D, side: number, draw: () => void): void {
  context.clearRect(0, 0, side, side)
  context.save()
  context.translate(side / 2, side / 2)
  context.scale(side / dialSide, side / dialSide)
  context.textAlign = 'center'
  draw()
  context.restore()
}

type Point = readonly [x: number, y: number]

function pointAt(degrees: number, radius: number): Point {
  const { east, north } = vectorOf(degrees, radius)
  return [east, -north]
}

function write(
  context: CanvasRenderingContext2D,
  text: string,
  [x, y]: Point,
  font: string,
  colour: string,
): void {
  context.font = font
  context.fillStyle = colour
  context.fillText(text, x, y)
}

/** In degrees clockwise from north. */
function strokeRing(context: CanvasRenderingContext2D, from: number, to: number, colour: string): void {
  // Canvas angles run from the east, in radians.
  const angle = (degrees: number) => ((degrees - 90) * Math.PI) / 180
  context.beginPath()
  context.arc(0, 0, 96, angle(from), angle(to))
  stroke(context, colour, 12)
}

/** Sits on the rim upwind, outside the card's words, and points downwind. */
function drawPointer(
  context: CanvasRenderingContext2D,
  angleDegrees: number,
  isHollow: boolean,
  look: DialLook,
): void {
  context.save()
  context.rotate((angleDegrees * Math.PI) / 180)
  context.beginPath()
  context.moveTo(0, -86)
  context.lineTo(-14, -116)
  context.quadraticCurveTo(0, -109, 14, -116)
  context.closePath()
  context.lineJoin = 'round'
  context.fillStyle = isHollow ? look.paper : look.pointer
  // Outline first, so that it does not narrow the pointer.
  if (!isHollow) stroke(context, look.paper, 3)
  context.fill()
  if (isHollow) stroke(context, look.hollow, 1.5)
  context.restore()
}

/** Less than the 250 ms between readings at 4 Hz, so the pointer rests at each. */
const turnMs = 200

/** A smaller turn is invisible and not worth five frames. */
const minTurnDegrees = 1.5

export class Pointer {
  #target: number | null = null
  #fromDegrees = 0
  #startedAt = Number.NEGATIVE_INFINITY

  /** `isStill`: no animation. Null hides the pointer; the next direction appears without a turn. */
  turnTo(directionDegrees: number | null, now: number, isStill: boolean): void {
    const angle = this.angleAt(now)
    const hasWay = directionDegrees !== null && angle !== null
    // Not limited to 0 to 359: 1 after 359 becomes 361.
    const next = hasWay ? angle + wholeTurn(directionDegrees - angle + 180) - 180 : directionDegrees
    if (next !== null && this.#target !== null && Math.abs(next - this.#target) < 1e-6) return
    const isTurn = hasWay && !isStill && next !== null && Math.abs(next - angle) >= minTurnDegrees
    if (isTurn) this.#fromDegrees = angle
    this.#target = next
    this.#startedAt = isTurn ? now : Number.NEGATIVE_INFINITY
  }

  /** May exceed a full turn; null without a pointer. */
  angleAt(now: number): number | null {
    if (this.#target === null) return null
    const done = Math.min(1, Math.max(0, (now - this.#startedAt) / turnMs))
    return this.#target + (this.#fromDegrees - this.#target) * (1 - done) ** 3
  }

  isTurningAt(now: number): boolean {
    return this.#target !== null && now - this.#startedAt < turnMs && this.#fromDegrees !== this.#target
  }
}
