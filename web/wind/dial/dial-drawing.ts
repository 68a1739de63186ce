// Draws what moves on the dial: the spread, the pointer, and the speed in its middle.

import type { Spread } from '../../../server/wire/wind/spread.ts'
import type { DialFace } from './dial-face.ts'
import type { DialLook } from './dial-look.ts'
import { canvasAngle, type DialContext, inDialUnits, ring } from './dial-units.ts'
import { fillTabular, tabularWidth } from './tabular-text.ts'

/** Between the letters W and E. */
const roomForNumber = 108

/** `angleDegrees`: where the pointer is on its way; null for none. The rest as for the card. */
export function drawDial(
  context: DialContext,
  size: number,
  face: DialFace,
  angleDegrees: number | null,
  look: DialLook,
): void {
  inDialUnits(context, size, () => {
    if (face.spread) drawSpread(context, face.spread, look)
    if (angleDegrees !== null) drawPointer(context, angleDegrees, face.isStale, look)
    context.textAlign = 'center'
    context.textBaseline = 'alphabetic'
    if (face.word !== null) drawWord(context, face.word, face, look)
    else if (face.number !== null) drawNumber(context, face.number, face, look)
  })
}

/** From one standard deviation before the mean to one after. */
function drawSpread(
  context: DialContext,
  { directionDegrees, deviationDegrees }: Spread,
  look: DialLook,
): void {
  context.beginPath()
  context.arc(
    0,
    0,
    ring.radius,
    canvasAngle(directionDegrees - deviationDegrees),
    canvasAngle(directionDegrees + deviationDegrees),
  )
  context.lineWidth = ring.width
  context.strokeStyle = look.spread
  context.stroke()
}

/** It stands on the rim where the wind comes from and points to where it goes. */
function drawPointer(context: DialContext, angleDegrees: number, isHollow: boolean, look: DialLook): void {
  context.save()
  context.rotate((angleDegrees * Math.PI) / 180)
  context.beginPath()
  context.moveTo(0, -83)
  context.lineTo(-14, -116)
  context.quadraticCurveTo(0, -109, 14, -116)
  context.closePath()
  context.lineJoin = 'round'
  context.lineWidth = isHollow ? 1.5 : 3
  context.strokeStyle = isHollow ? look.hollow : look.paper
  context.fillStyle = isHollow ? look.paper : look.pointer
  // The outline first: it sets the pointer off from the ring and takes nothing from it.
  if (!isHollow) context.stroke()
  context.fill()
  if (isHollow) context.stroke()
  context.restore()
}

function drawWord(
  context: DialContext,
  word: string,
  { number, unit, isStale, isFault }: DialFace,
  look: DialLook,
): void {
  context.font = `400 32px ${look.family}`
  context.fillStyle = isFault && !isStale ? look.caution : isStale ? look.inkSoft : look.ink
  context.fillText(word, 0, number === null ? 11 : 4)
  if (number === null) return
  context.font = `400 15.5px ${look.family}`
  context.fillStyle = look.inkSoft
  context.fillText(`${number} ${unit}`, 0, 28)
}

function drawNumber(
  context: DialContext,
  number: string,
  { unit, gust, isStale }: DialFace,
  look: DialLook,
): void {
  context.font = `300 56px ${look.family}`
  const width = tabularWidth(context, number)
  if (width > roomForNumber) context.font = `300 ${(56 * roomForNumber) / width}px ${look.family}`
  context.fillStyle = isStale ? look.inkSoft : look.ink
  fillTabular(context, number, 0, 6)
  context.fillStyle = look.inkSoft
  context.font = `400 15.5px ${look.family}`
  context.fillText(unit ?? '', 0, 28)
  if (gust === null) return
  context.font = `500 14.5px ${look.family}`
  context.fillText(gust, 0, 51)
}
