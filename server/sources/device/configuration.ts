// What a WindSonic answers in configuration mode.

import { firmware, selfTest, serialNumber, supply } from './banner.ts'
import { changed, isSettingLetter, listed, type Settings } from './settings.ts'

export interface Answer {
  /** Without line ends; the echo comes first. */
  readonly lines: readonly string[]
  readonly settings: Settings
  /** The command was Q: back to measuring. */
  readonly isLeaving: boolean
}

/** Of the same maker's SDI-12 model (manual 1405-PS-0019, section 14.8); that this one says it too is unverified. */
export const illegal = 'ILLEGAL COMMAND LINE'

type Diagnosis = (settings: Settings) => readonly string[]

const diagnoses: ReadonlyMap<string, Diagnosis> = new Map<string, Diagnosis>([
  ['D1', () => [serialNumber]],
  ['D2', () => [firmware]],
  ['D3', (settings) => [listed(settings)]],
  ['D5', () => [supply]],
  ['D6', () => selfTest],
])

/**
 * Answers one line as it was typed, without its Enter. A new setting is answered by its echo alone (section 10.7). A bare
 * letter shows the setting, as the maker's WindObserver does after a change of baud rate (1390-PS-0004, command B);
 * unverified here, as is that an illegal command is echoed and that small letters are illegal.
 */
export function answer(command: string, settings: Settings): Answer {
  const say = (...lines: string[]) => ({ lines: [command, ...lines], settings, isLeaving: false })
  if (command === 'Q') return { ...say(), isLeaving: true }
  const diagnosis = diagnoses.get(command)
  if (diagnosis) return say(...diagnosis(settings))
  if (isSettingLetter(command)) return say(`${command}${settings[command]}`)
  const next = changed(settings, command)
  return next ? { ...say(), settings: next } : say(illegal)
}
