// How it was measured: what a latency is here, which clocks, which readings, and what is other than in the paper.

import { paperBoundMs } from '../../lab/clock.ts'
import type { ComparedClock } from '../../lab/windcomm/run.ts'
import type { WindSummary } from '../../lab/windcomm/summary.ts'
import { listed, placeName } from '../../lab/windcomm/words.ts'
import { count, figure, signed } from '../format.ts'
import { number, type Section, type Table, text } from '../section.ts'

export function methodSection(summary: WindSummary): Section {
  const { clock, warmUpReadings, readings, serverCpuMs } = summary
  return {
    title: 'How it was measured',
    tables: [clocksTable(clock)],
    paragraphs: [
      'A latency runs from the moment at which the server has the reading and could pass it on, its stamp when it takes it (acceptedAt), to the moment at which a window has the bytes, before it parses them. That is the paper’s t4 − t0: there too the server’s stamp is made when it has the sensor’s measurement, and parsing and display are left out. It includes the time in which the log makes the reading safe.',
      serialWords(summary),
      `${count(warmUpReadings)} readings were left out after every window was open and had one. The next ${count(readings)} count, the same for every window, by their ids in the log; after the last one every window had time for stragglers.`,
      windowsWords(summary),
      `All of it ran on one machine, so that there is one clock and nothing was added to any stamp. It was compared before and after: this process with the server by exchanges over an undelayed way, each page with this process by the machine’s own clock; a page’s own exchanges must agree with that. No stamp is off by more than ${figure(clock.largestErrorMs)} ms; above ${paperBoundMs} ms a run is refused before and not written after, as in the paper.`,
      'The three methods of the paper run over HTTP/1.1, as in 2012, each window with connections of its own; the others over HTTP/2. All of it is TLS, which the paper did not have: it costs no round trip once a connection stands. Polling’s Δ is the pause from an answer to the next question; the paper’s also had to hold parsing and display.',
      `The server used ${figure(serverCpuMs / 1000)} s of processor time for ${count(readings * summary.cells.length)} deliveries. Every one, lost ones included, is in samples.csv beside this report, the readings as the log has them in readings.csv, and the figures of this report in summary.json.`,
    ],
  }
}

function serialWords({ serialLine }: WindSummary): string {
  const line =
    'A real sensor’s serial line takes its time before that, about 23 ms for 22 bytes at 9,600 baud, the same for every method; it is in neither.'
  if (serialLine === null) return line
  return `${line} The simulated sensor’s frames took ${figure(serialLine.meanMs)} ms on average (p99 ${figure(serialLine.p99Ms)}) from their first byte at the host until the server had the reading.`
}

function windowsWords({ sites }: WindSummary): string {
  const at = (kind: string) =>
    listed(sites.filter(({ windows }) => windows === kind).map(({ name }) => placeName(name)))
  const clients = 'clients without one: the web app’s own link over the same transports, in Node'
  const [browser, client] = [at('browser'), at('client')]
  if (browser === '') return `The windows are ${clients}.`
  const others = client === '' ? '' : `; at ${client} they are ${clients}`
  return `At ${browser} the windows are real Chromium’s, taking the wind in without drawing it (the editor’s view), each reaching the server through its own link${others}.`
}

function clocksTable({ before, after }: WindSummary['clock']): Table {
  return {
    caption: 'Clocks against the server’s, in milliseconds',
    columns: [
      text('Clock'),
      ...['Before, by exchanges', 'Off at most', 'After, by exchanges', 'Off at most'].map(number),
    ],
    rows: before.map((clock) => [
      clock.name,
      ...clockCells(clock),
      ...clockCells(after.find(({ name }) => name === clock.name)),
    ]),
  }
}

function clockCells(clock: ComparedClock | undefined): readonly string[] {
  if (!clock) return ['', '']
  return [`${signed(clock.offsetMs)} ± ${figure(clock.boundMs)}`, figure(clock.errorMs)]
}
