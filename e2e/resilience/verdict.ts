// What makes a run a failure, and the sentence that says how it went.

import type { ResilienceSummary } from './summary.ts'

type Found = Pick<
  ResilienceSummary,
  'promised' | 'faults' | 'modes' | 'browsers' | 'log' | 'memory' | 'crashes' | 'settledAfterMs'
>

/** One sentence each; none for a run in which every promise was kept. */
export function faultsOf(found: Found): readonly string[] {
  return [
    ...found.modes.flatMap(modeFailures),
    ...logFailures(found),
    ...found.browsers.flatMap(browserFailures),
    ...(found.crashes > 0 ? [`The server ended ${found.crashes} times though nobody had asked it to.`] : []),
    ...(found.settledAfterMs === null ? ['The windows did not all come to the log’s end in time.'] : []),
    ...tooFew(found),
  ]
}

function modeFailures({ mode, ...counts }: Found['modes'][number]): readonly string[] {
  const wrong = wordsFor(counts)
  const unsent =
    counts.unacknowledged > 0 ? [`${counts.unacknowledged} messages were never acknowledged`] : []
  const words = [...wrong, ...unsent]
  return words.length === 0 ? [] : [`${mode}: ${words.join(', ')}.`]
}

interface Wrong {
  readonly lost: number
  readonly duplicated: number
  readonly reordered: number
}

function wordsFor({ lost, duplicated, reordered }: Wrong): readonly string[] {
  return Object.entries({ lost, duplicated, reordered })
    .filter(([, count]) => count > 0)
    .map(([word, count]) => `${count} ${word}`)
}

function logFailures({ log }: Found): readonly string[] {
  const words = [...wordsFor(log), ...(log.renumbered > 0 ? [`${log.renumbered} under another number`] : [])]
  return words.length === 0 ? [] : [`The log: ${words.join(', ')}.`]
}

function browserFailures(browser: Found['browsers'][number]): readonly string[] {
  const words = [...wordsFor(browser), ...(browser.isEqual ? [] : ['it does not show what the log says'])]
  return words.length === 0 ? [] : [`Chromium in ${browser.mode}: ${words.join(', ')}.`]
}

function tooFew({ promised, faults }: Found): readonly string[] {
  return (['cuts', 'restarts', 'kills'] as const)
    .filter((kind) => faults[kind] < promised[kind])
    .map((kind) => `Only ${faults[kind]} of the ${promised[kind]} promised ${kind} came about.`)
}

export function findingOf({ modes, browsers, faults, memory }: Found, failures: readonly string[]): string {
  const through = `${whole(faults.cuts)} cut connections, ${faults.restarts} restarts and ${faults.kills} kills`
  if (failures.length > 0) return `Not held through ${through}: ${failures.join(' ')}`
  const deliveries = [...modes, ...browsers].reduce((sum, { n }) => sum + n, 0)
  const flat = memory.last === null ? '' : memory.last.isFlat ? '; memory is flat' : '; memory grew'
  return `Through ${through} all ${whole(deliveries)} deliveries came: none lost, none twice, none out of order${flat}.`
}

function whole(count: number): string {
  return count.toLocaleString('en-GB')
}
