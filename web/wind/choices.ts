// What a reader chose for the wind, the unit of speeds and the length of the history, kept for this browser.

import { isWindUnit, type WindUnit } from '../../server/wire/wind/units.ts'

/** One unit for all speeds, or the one that each reading was sent in. */
export type UnitChoice = WindUnit | 'sent'

export const historyMinutes = [1, 10, 60] as const
export type HistoryMinutes = (typeof historyMinutes)[number]

export interface WindChoices {
  readonly unit: UnitChoice
  readonly minutes: HistoryMinutes
}

export const firstChoices: WindChoices = { unit: 'sent', minutes: 10 }

const key = 'crosswind.wind'

/** Of the browser's storage what is needed here; where it is denied, merely to reach for it throws. */
export type ChoiceStorage = () => Pick<Storage, 'getItem' | 'setItem'>

/** What was chosen before; whatever is missing or makes no sense is as at first. */
export function readChoices(storage: ChoiceStorage): WindChoices {
  const { unit, minutes } = storedChoices(storage)
  return {
    unit: isUnitChoice(unit) ? unit : firstChoices.unit,
    minutes: historyMinutes.find((known) => known === minutes) ?? firstChoices.minutes,
  }
}

/** Returns whether they will be there the next time; for this window they hold all the same. */
export function keepChoices(storage: ChoiceStorage, choices: WindChoices): boolean {
  try {
    storage().setItem(key, JSON.stringify(choices))
    return true
  } catch {
    return false
  }
}

/** The unit to show a speed in; `sentUnit` is the newest reading's, null before there is one. */
export function unitShown(choice: UnitChoice, sentUnit: WindUnit | null): WindUnit {
  return choice === 'sent' ? (sentUnit ?? 'M') : choice
}

export function isUnitChoice(text: unknown): text is UnitChoice {
  return typeof text === 'string' && (text === 'sent' || isWindUnit(text))
}

function storedChoices(storage: ChoiceStorage): Partial<Record<keyof WindChoices, unknown>> {
  try {
    const stored: unknown = JSON.parse(storage().getItem(key) ?? '{}')
    return typeof stored === 'object' && stored !== null ? stored : {}
  } catch {
    // Denied, or written by something else: nothing was chosen.
    return {}
  }
}
