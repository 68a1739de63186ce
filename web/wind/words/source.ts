// Where readings come from, in the word that stands beside them.

import type { SensorSource } from '../../../server/wire/reading.ts'

export const sourceWords: Readonly<Record<SensorSource, string>> = {
  simulated: 'Simulated',
  recorded: 'Recorded',
  serial: 'WindSonic',
}
