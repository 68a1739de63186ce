// Keystrokes in documents of 200 to 100,000 characters, with each editor in one mode.

import { randomUUID } from 'node:crypto'
import { fillPages, showPages, stampsOf, textBetween, typeKeys, warmUp } from '../browser/typing.ts'
import type { Lab } from '../lab/experiment.ts'
import { labelOf } from '../lab/mode-names.ts'
import type { Participants } from '../lab/participants.ts'
import { outcomeWords, type Sample, timesOf } from '../lab/samples.ts'
import { bytesOf, stagesOf } from '../lab/stages.ts'
import { median, significant } from '../lab/statistics.ts'
import { recordingAddress, type System, timeTurn } from '../lab/testbed.ts'
import { count, type Section, table, text } from '../report/section.ts'

export interface GrownDocument {
  readonly characters: number
  readonly samples: readonly Sample[]
}

const sizes = [200, 10_000, 100_000]
const paragraphCharacters = 200
const keysInTurn = 20
const turns = 2
const intervalMs = 200

/** `systems`: of one mode, each with another editor; they take turns. */
export async function measureGrowing(
  systems: readonly System[],
  windows: Awaited<ReturnType<Participants['open']>>,
  participants: Participants,
  warmupKeys: number,
  lab: Lab,
): Promise<readonly GrownDocument[]> {
  const run = randomUUID().slice(0, 8)
  const text = 'the wind turns '.repeat(paragraphCharacters).slice(0, paragraphCharacters - 1)
  const grown: GrownDocument[] = []
  for (const characters of sizes) {
    const paragraphs = Array.from({ length: characters / paragraphCharacters }, () => `${text}.`)
    const samples: Sample[] = []
    for (let turn = 1; turn <= turns; turn += 1)
      for (const system of turn % 2 === 0 ? systems.toReversed() : systems) {
        lab.signal.throwIfAborted()
        const { name, editor } = system
        participants.say(`Measuring a document of ${characters} characters`)
        const channel = `grow-${run}-${editor}-${characters}-${turn}`
        await showPages(windows, recordingAddress(system, channel), { text: '', forgets: false })
        await fillPages(windows, paragraphs, editor)
        await warmUp(windows, warmupKeys, intervalMs)
        const { method, isPresent } = participants
        const place = { session: 1, block: turn, firstKey: (turn - 1) * keysInTurn + 1, method }
        const taken = await timeTurn(
          windows,
          system,
          place,
          async () => {
            const keys = [...textBetween(1, keysInTurn + 1)]
            return stampsOf(windows, await typeKeys(windows, keys, intervalMs, undefined, lab.signal))
          },
          isPresent,
        )
        if (taken.sent !== keysInTurn)
          throw new Error(`${name}: ${keysInTurn} keys were typed, the page sent ${taken.sent} messages.`)
        samples.push(...taken.samples)
        lab.say(`${name.padEnd(20)} ${characters} characters, turn ${turn}  ${outcomeWords(taken.samples)}`)
      }
    grown.push({ characters, samples })
  }
  return grown
}

/** One row for each size and mode; medians in ms, means of bytes. */
export function summariseGrowing(growing: readonly GrownDocument[]) {
  return growing.flatMap(({ characters, samples }) =>
    [...Map.groupBy(samples, ({ mode }) => mode)].map(([mode, taken]) => {
      const times = timesOf(taken)
      const { applyMs = null, showMs = null } = stagesOf(taken)
      const p50Ms = times.length === 0 ? null : significant(median(times))
      const counts = { n: times.length, expected: taken.length }
      return { characters, mode, ...counts, p50Ms, applyMs, showMs, ...bytesOf(taken) }
    }),
  )
}

export function growingSections(rows: ReturnType<typeof summariseGrowing>): readonly Section[] {
  if (rows.length === 0) return []
  const columns = [
    ...[
      'Characters',
      text('Mode'),
      'Received',
      'Lost',
      'Transmission',
      'Received → applied',
      'Received → painted',
    ],
    ...['Bytes sent', 'Bytes received'],
  ]
  return [
    {
      title: 'A growing document',
      tables: [
        table(
          'By the document’s length; medians in milliseconds, means in bytes',
          columns,
          rows.map((row) => [
            ...[count(row.characters), labelOf(row.mode), count(row.n), count(row.expected - row.n)],
            ...[row.p50Ms, row.applyMs, row.showMs, row.sentBytes, row.receivedBytes],
          ]),
        ),
      ],
      paragraphs: [
        `Paragraphs of ${paragraphCharacters} characters, written before; then ${keysInTurn} keys at the end in each of ${turns} turns, ${intervalMs} ms apart. The editors took turns, in one mode. Every sample is in growing.csv.`,
      ],
    },
  ]
}
