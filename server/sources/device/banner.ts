// What a WindSonic says of itself: at power-up, and when it is asked.

/** Of no real unit; the form is the manual's (1405-PS-0019, section 10.8). */
export const serialNumber = 'Y16120001'
export const firmware = '2368-103'
/** The form, with a small v, is the manual's (same place). */
export const supply = '+11.7v'

/** In hexadecimal, stored and computed; all of them pass. */
const checksums = [
  'CHECKSUM ROM:4651 4651 *PASS*',
  'CHECKSUM FAC:0A2B 0A2B *PASS*',
  'CHECKSUM ENG:12B5 12B5 *PASS*',
  'CHECKSUM CAL:CC55 CC55 *PASS*',
]

/** At power-up and when configuration mode is left, unless H2 (manual, command H; wording and blank lines vary). */
export const banner: readonly string[] = [
  'WINDSONIC (Gill Instruments Ltd)',
  firmware,
  'RS232 (CFG)',
  ...checksums,
]

/** What D6 says in still air (manual, section 10.8); this one always passes. */
export const selfTest: readonly string[] = [
  'ALIGNMENT LIMITS:0D59,0CF5',
  'ALIGNMENT U:0D15 *PASS*',
  'ALIGNMENT V:0D16 *PASS*',
  ...checksums,
]
