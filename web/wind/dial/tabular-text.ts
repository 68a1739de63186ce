// Digits of one width on a canvas, which knows no `tabular-nums`: so that a number does not tremble as it changes.

import type { DialContext } from './dial-units.ts'

type Measuring = Pick<DialContext, 'measureText'>

/** In the context's font, with each digit as wide as the widest. */
export function tabularWidth(context: Measuring, text: string): number {
  const digit = digitWidth(context)
  return Array.from(text).reduce((width, sign) => width + signWidth(context, sign, digit), 0)
}

/** Draws the text with its middle at `x`, each digit in the middle of its place. */
export function fillTabular(
  context: Pick<DialContext, 'measureText' | 'fillText' | 'textAlign'>,
  text: string,
  x: number,
  y: number,
): void {
  const digit = digitWidth(context)
  let left = x - tabularWidth(context, text) / 2
  context.textAlign = 'center'
  for (const sign of text) {
    const width = signWidth(context, sign, digit)
    context.fillText(sign, left + width / 2, y)
    left += width
  }
}

function signWidth(context: Measuring, sign: string, digit: number): number {
  return sign >= '0' && sign <= '9' ? digit : context.measureText(sign).width
}

function digitWidth(context: Measuring): number {
  let widest = 0
  for (const digit of '0123456789') widest = Math.max(widest, context.measureText(digit).width)
  return widest
}
