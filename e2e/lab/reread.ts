// Reads a finished run back from its report's folder: summary.json and the CSV files of its samples.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { readCompressed } from '../report/render.ts'
import { columnOf, parseCsv } from './csv.ts'

/** Rejects with a sentence that names the file. */
export async function readText(path: string): Promise<string> {
  try {
    return path.endsWith('.gz') ? await readCompressed(path) : await readFile(path, 'utf8')
  } catch (cause) {
    const older = path.endsWith('.gz') ? '; compress the file of an older one with gzip' : ''
    throw new Error(`${path} cannot be read; --from needs the folder of a report with its samples${older}.`, {
      cause,
    })
  }
}

/** Rejects if it is of another scenario. The caller states what else the scenario's summary has. */
export async function readSummary<Known extends object>(folder: string, scenario: string): Promise<Known> {
  const path = join(folder, 'summary.json')
  const summary: Known & { readonly scenario?: string } = JSON.parse(await readText(path))
  if (summary.scenario === scenario) return summary
  throw new Error(`${path} is of the scenario ${JSON.stringify(summary.scenario)}, not of ${scenario}.`)
}

/** Omits the fields that are null: a summary has null where its run has no field. */
export function withoutNulls<Summary extends object, Name extends keyof Summary>(
  summary: Summary,
  names: readonly Name[],
): Pick<Summary, Name> {
  const known = names.flatMap((name) => (summary[name] == null ? [] : [[name, summary[name]]]))
  return Object.fromEntries(known) as Pick<Summary, Name>
}

/** Fields of every run's summary. */
export const circumstances = [
  'command',
  'parameters',
  'startedAt',
  'finishedAt',
  'environment',
  'stopped',
  'standstills',
] as const

/** The rows of a CSV file. Throws an error that names the file, the line and the column of a wrong cell. */
export function checkedRows<Row>(path: string, text: string, schema: z.ZodType<Row>): readonly Row[] {
  const rows = parseCsv(text)
  return rows.map((row, index) => {
    const { success, data, error } = schema.safeParse(row)
    if (success) return data
    const key = String(error.issues[0]?.path[0])
    if (rows[0]?.[key] === undefined) throw new Error(`${path} has no column for ${key}.`)
    throw new Error(`${path}, line ${index + 2}: ${columnOf(key)} is ${JSON.stringify(row[key])}.`)
  })
}

export const number = z.string().min(1).pipe(z.coerce.number())

/** An empty cell is "never". */
export const numberOrNull = z
  .literal('')
  .transform(() => null)
  .or(number)

/** Columns of every sample. */
export const deliveryColumns = {
  id: z.string(),
  receivedAt: numberOrNull,
  copies: number,
  reordered: z.stringbool(),
}
