// Keeps the dial's two canvases up to date: the card when its size or the colours change, the rest as the wind does.

import type { Clock } from '../../../server/wire/time.ts'
import type { Store } from '../../store/store.ts'
import { browserFrames, createDrawing } from '../drawing.ts'
import { onLookChange, propertyReader } from '../look-changes.ts'
import { watchSight } from '../sight.ts'
import { windFace } from '../wind-face.ts'
import { resizeCanvas, watchCanvasSize } from './canvas-size.ts'
import { drawDialCard } from './dial-card.ts'
import { drawDial } from './dial-drawing.ts'
import { type DialFace, dialFace, dialSentence, isSameFace } from './dial-face.ts'
import { dialLook } from './dial-look.ts'
import { createTurning } from './turning.ts'

/** How often readings grow old, and the dial's sentence is brought up to date where the state stays the same. */
const ageingMs = 1000
const describingMs = 5000

/** 25 pictures a second are a smooth turn, and leave a machine with ten such windows time for the rest. */
const turnFrameMs = 40

export interface DialParts {
  /** Lies below `live`. */
  readonly card: HTMLCanvasElement
  readonly live: HTMLCanvasElement
  readonly store: Store
  /** The clock that stamps what comes. */
  readonly clock: Clock
}

/** Returns the way to stop. */
export function mountDial({ card, live, store, clock }: DialParts): () => void {
  const [cardContext, liveContext] = [card.getContext('2d'), live.getContext('2d')]
  if (!cardContext || !liveContext) return () => undefined
  const turning = createTurning()
  const motion = matchMedia('(prefers-reduced-motion: reduce)')
  const sight = watchSight(live)
  const drawing = createDrawing(drawLive, sight, browserFrames)
  let look = dialLook(propertyReader(live))
  let side = 0
  let shown: DialFace | null = null
  let describedAt = Number.NEGATIVE_INFINITY

  function drawLive(now: number): number | null {
    if (!liveContext || !shown || side === 0) return null
    drawDial(liveContext, side, shown, turning.angleAt(now), look)
    return turning.isTurningAt(now) ? turnFrameMs : null
  }

  function update(): void {
    const { wind } = store.view()
    const now = clock()
    const face = windFace(wind, now)
    const next = dialFace(face, wind.figures)
    if (shown && isSameFace(shown, next)) return
    const isOtherState =
      shown?.word !== next.word || shown.isStale !== next.isStale || shown.unit !== next.unit
    if (isOtherState || now - describedAt >= describingMs) {
      describedAt = now
      live.setAttribute('aria-label', dialSentence(face, wind.figures))
    }
    turning.turnTo(next.directionDegrees, performance.now(), motion.matches || sight.isHidden())
    shown = next
    drawing.plan()
  }

  function drawAll(): void {
    if (cardContext && side > 0) drawDialCard(cardContext, side, look)
    drawLive(performance.now())
  }

  const stops = [
    store.subscribe(update),
    watchCanvasSize(live, (newSide, pixelRatio) => {
      side = newSide
      resizeCanvas(card, cardContext, side, pixelRatio)
      resizeCanvas(live, liveContext, side, pixelRatio)
      // At once: an emptied canvas would be seen empty.
      drawAll()
    }),
    onLookChange(() => {
      look = dialLook(propertyReader(live))
      drawAll()
    }),
    drawing.stop,
    sight.stop,
  ]
  const ageing = setInterval(update, ageingMs)
  update()
  return () => {
    clearInterval(ageing)
    for (const stop of stops) stop()
  }
}
