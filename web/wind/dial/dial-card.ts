// Draws the dial's card: the ring, the ticks and the letters, which no reading changes.

import { vectorOf } from '../../../server/wire/wind/vector.ts'
import type { DialLook } from './dial-look.ts'
import { type DialContext, inDialUnits, ring } from './dial-units.ts'

/** Where there is room for the degrees in tens as well, in CSS pixels. */
const roomyFrom = 320

const letters = ['N', 'E', 'S', 'W'] as const

/** `size`: the side of the dial in the context's own units, CSS pixels. */
export function drawDialCard(context: DialContext, size: number, look: DialLook): void {
  inDialUnits(context, size, () => {
    drawTrack(context, look)
    for (let degrees = 0; degrees < 360; degrees += 10) drawTick(context, degrees, look)
    context.textAlign = 'center'
    context.textBaseline = 'middle'
    for (const [index, letter] of letters.entries()) drawLetter(context, index * 90, letter, look)
    if (size >= roomyFrom) drawDegrees(context, look)
  })
}

function drawTrack(context: DialContext, { track }: DialLook): void {
  context.beginPath()
  context.arc(0, 0, ring.radius, 0, 2 * Math.PI)
  context.lineWidth = ring.width
  context.strokeStyle = track
  context.stroke()
}

function drawTick(context: DialContext, degrees: number, { tick, inkSoft }: DialLook): void {
  const isMain = degrees % 90 === 0
  const outer = degrees % 30 === 0 ? 113 : 109.5
  const { east, north } = vectorOf(degrees)
  context.beginPath()
  context.moveTo(east * 105.5, -north * 105.5)
  context.lineTo(east * outer, -north * outer)
  context.lineWidth = isMain ? 2 : 1.25
  context.strokeStyle = isMain ? inkSoft : tick
  context.stroke()
}

function drawLetter(
  context: DialContext,
  degrees: number,
  letter: string,
  { ink, inkSoft, family }: DialLook,
): void {
  const isNorth = degrees === 0
  const { east, north } = vectorOf(degrees, 74)
  context.font = `${isNorth ? 700 : 600} 15px ${family}`
  context.fillStyle = isNorth ? ink : inkSoft
  context.fillText(letter, east, -north + 0.5)
}

function drawDegrees(context: DialContext, { inkSoft, family }: DialLook): void {
  context.font = `400 7.5px ${family}`
  context.fillStyle = inkSoft
  for (let degrees = 30; degrees < 360; degrees += 30) {
    if (degrees % 90 === 0) continue
    const { east, north } = vectorOf(degrees, 78)
    context.fillText(String(degrees), east, -north)
  }
}
