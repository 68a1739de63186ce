// Which faults came about, and what the server made of floods and nonsense.

import type { FaultRecord, ResilienceRecord } from '../../resilience/record.ts'
import type { ResilienceSummary } from '../../resilience/summary.ts'
import { count, figure, nothing } from '../format.ts'
import { number, type Section, type Table, text } from '../section.ts'

export function faultsSection(
  { faults }: ResilienceRecord,
  { promised, crashes, seed }: ResilienceSummary,
): Section {
  const done = faults.filter(({ isDone }) => isDone)
  const answers = done.filter(({ kind }) => kind === 'flood' || kind === 'broken input')
  return {
    title: 'The faults',
    tables: [countsTable(done, promised), restartsTable(done), answersTable(answers)],
    paragraphs: [
      `Drawn from seed ${seed}: the same seed plans the same faults; whom they meet depends on who is open then. Each fault, with its time and its target, is in faults.csv.`,
      crashes === 0
        ? 'The server never ended unasked.'
        : `The server ended ${crashes} times though nobody had asked it to.`,
    ],
  }
}

function countsTable(done: readonly FaultRecord[], promised: ResilienceSummary['promised']): Table {
  const least: Readonly<Record<string, number>> = {
    cut: promised.cuts,
    restart: promised.restarts,
    kill: promised.kills,
  }
  const kinds = Map.groupBy(done, ({ kind, how }) =>
    kind === 'flood' || kind === 'broken input' ? kind : `${kind}: ${how}`,
  )
  return {
    caption: 'How many of each',
    columns: [text('Fault'), number('Number'), number('Promised of its kind')],
    rows: [...kinds].sort().map(([name, all]) => {
      const most = least[all[0]?.kind ?? '']
      return [name, count(all.length), most === undefined ? nothing : count(most)]
    }),
  }
}

function restartsTable(done: readonly FaultRecord[]): Table {
  const restarts = done.filter(({ kind }) => kind === 'restart' || kind === 'kill')
  return {
    caption: 'The server’s own outages',
    columns: [text('At, s'), text('What'), number('Until it was up again, s')],
    rows: restarts.map(({ atMs, kind, lastedMs }) => [
      figure(atMs / 1000),
      kind === 'kill' ? 'kill -9' : 'graceful restart',
      figure(lastedMs / 1000),
    ]),
  }
}

function answersTable(answers: readonly FaultRecord[]): Table {
  return {
    caption: 'Floods and broken input, and what became of them',
    columns: [text('Fault'), text('At, s'), text('Outcome')],
    rows: answers.map(({ kind, how, atMs, outcome }) => [
      kind === 'flood' ? `flood over ${how}` : how,
      figure(atMs / 1000),
      outcome,
    ]),
  }
}
