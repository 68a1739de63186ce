// What a WindSonic frame is to the rest of the server: a reading, or a reason why there is none.

import type { ReadingBody } from '../../wire/reading.ts'

/** A reading that has not been told yet which source it came from. */
export type FrameReading = Omit<ReadingBody, 'source'>

/** `layout`: no format has these fields and widths, though the sum is right. `range`: no wind is like that. */
export type BodyRefusal = 'layout' | 'range'

/**
 * `cut`: a new frame or the line's end came before this one was whole. `too-long`: its body did not end where it must.
 * `ending`: no CR behind the sum. `checksum`: the sum is wrong. The others are the body's own.
 */
export type RefusalCode = BodyRefusal | 'checksum' | 'cut' | 'too-long' | 'ending'

/** Refused although its sum was right: nothing was damaged on the way, so it is only another format, or no wind. */
export function isIntact(code: RefusalCode): boolean {
  return code === 'layout' || code === 'range'
}

/** Format O2 fills the fields of a fault with nines: direction and speed (manual 1405-PS-0019, issue 28, page 54). */
export const filled = { direction: 999, speed: 999.99 } as const

/**
 * XOR of all characters, as two upper-case hex digits (manual 1405-PS-0019, section 9.1; its later examples contradict
 * the rule and real units follow it). Characters are bytes: text decoded as latin1.
 */
export function checksum(body: string): string {
  let sum = 0
  for (let i = 0; i < body.length; i++) sum ^= body.charCodeAt(i)
  return sum.toString(16).toUpperCase().padStart(2, '0')
}
