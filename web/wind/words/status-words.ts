// What a WindSonic's status codes mean, for people.

/** Manual 1405-PS-0019, "Status codes"; `V` is NMEA 0183's word for data that are not valid. */
const faults: Readonly<Record<string, string>> = {
  '01': 'something blocks its U axis',
  '02': 'something blocks its V axis',
  '04': 'both of its axes fail',
  '08': 'the checksum of its settings memory is wrong',
  '09': 'the checksum of its program memory is wrong',
  '10': 'its amplifier is at full gain: something is in the way',
  V: 'its data are void',
}

/** One sentence, with the code. */
export function faultSentence(status: string): string {
  const words = Object.hasOwn(faults, status) ? faults[status] : undefined
  return words
    ? `The sensor reports a fault: ${words} (status ${status}).`
    : `The sensor reports a fault, status ${status}.`
}

/** Status 60 is a good reading of a heated sensor with its heating on. */
export function isHeated(status: string): boolean {
  return status === '60'
}
