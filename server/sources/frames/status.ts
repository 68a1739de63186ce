// What the status field of a frame means.

/**
 * Good, good with heating (heated models), gain at maximum (old units), and NMEA's acceptable (manual 1405-PS-0019, issue
 * 28, sections 9.4 and 11.5). Beside any other status, NMEA's void among them, the numbers mean nothing.
 */
const soundStatuses: ReadonlySet<string> = new Set(['00', '60', '10', 'A'])

/** Whether the values beside this status are a reading. Two digits, `A` or `V`. */
export function isSound(status: string): boolean {
  return soundStatuses.has(status)
}
