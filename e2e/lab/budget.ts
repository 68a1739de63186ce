// `--budget FILE`: bounds on a run's figures, so that a run can fail a CI job.

import { readFile } from 'node:fs/promises'
import { z } from 'zod'

const bound = z.union(
  [
    z.number().transform((most) => ({ least: Number.NEGATIVE_INFINITY, most })),
    z
      .strictObject({ least: z.number().optional(), most: z.number().optional() })
      .refine(({ least, most }) => least !== undefined || most !== undefined)
      .transform(({ least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY }) => ({
        least,
        most,
      })),
  ],
  'a bound is a number, or an object with least, most or both',
)

const schema = z
  .record(z.string(), z.record(z.string(), z.record(z.string(), bound)))
  .refine((lists) => Object.keys(lists).length > 0, 'bounds nothing')

/** Bounds by the summary's list (`figures`, `comparisons`), the row's `mode` (`*` for every one) and the figure. */
export type Budget = Readonly<z.output<typeof schema>>

/** Rejects with one sentence that names the file and the place in it. */
export async function readBudget(file: string): Promise<Budget> {
  const text = await readFile(file, 'utf8').catch((cause) => {
    throw new Error(`--budget names ${file}, which cannot be read (${cause.code}).`, { cause })
  })
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw new Error(`The budget ${file} is not JSON: ${(cause as Error).message}.`, { cause })
  }
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const place = issue?.path.join(' → ')
  throw new Error(
    `The budget ${file} ${place ? `is wrong at ${place}` : 'is wrong'}: ${issue?.message}. It bounds figures of summary.json, such as {"figures":{"sse/2":{"p95":20},"*":{"lost":0}}}.`,
  )
}

/**
 * Returns a sentence for each figure out of bounds. Throws for a list, row or figure that the summary
 * lacks.
 */
export function brokenBounds(budget: Budget, summary: object): string[] {
  return Object.entries(budget).flatMap(([list, rows]) => {
    const found = rowsOf(summary, list)
    return Object.entries(rows).flatMap(([name, figures]) => {
      const bounded = found.filter(({ mode }) => name === '*' || mode === name)
      if (bounded.length === 0)
        throw missing(
          `${list} → ${name}`,
          found.map(({ mode }) => mode),
        )
      return bounded.flatMap((row) =>
        Object.entries(figures).flatMap(([figure, { least, most }]) => {
          const value = row.figures[figure]
          if (value === undefined) throw missing(`${list} → ${name} → ${figure}`, Object.keys(row.figures))
          const place = `${row.mode}: ${figure}`
          // A figure that could not be measured breaks its bound.
          if (value === null) return [`${place} was not measured, and has a bound`]
          if (value > most) return [`${place} is ${value}, at most ${most} allowed`]
          return value < least ? [`${place} is ${value}, at least ${least} required`] : []
        }),
      )
    })
  })
}

interface Row {
  readonly mode: string
  /** Numbers, or null if not measurable. */
  readonly figures: Readonly<Record<string, number | null>>
}

function rowsOf(summary: object, list: string): Row[] {
  const isRows = (value: unknown): value is Record<string, unknown>[] =>
    Array.isArray(value) && value.every((row) => typeof row?.mode === 'string')
  const lists = Object.entries(summary).filter(([, value]) => isRows(value) && value.length > 0)
  const rows = lists.find(([name]) => name === list)?.[1]
  if (!isRows(rows))
    throw missing(
      list,
      lists.map(([name]) => name),
    )
  return rows.map(({ mode, ...rest }) => ({
    mode: String(mode),
    figures: Object.fromEntries(
      Object.entries(rest).flatMap(([name, value]) =>
        typeof value === 'number' || value === null ? [[name, value]] : [],
      ),
    ),
  }))
}

function missing(place: string, there: readonly string[]): Error {
  return new Error(
    `The budget bounds ${place}, which this run does not have; it has ${[...new Set(there)].join(', ')}.`,
  )
}
