// The live view of the server's load: figures of the last two minutes.

import { useEffect, useState } from 'react'
import { asClosing, browserTimers } from '../../client/transports.ts'
import { type MonitorProcess, type MonitorReply, secondsKept } from '../../protocol/monitor.ts'
import { type Cancel, nothingPlanned } from '../../protocol/time.ts'
import { openHttp } from '../axios-http.ts'
import {
  chartsOf,
  formatServer,
  formatTrouble,
  type MonitorChart,
  newestOf,
  type ProcessRow,
  processRows,
  withReply,
} from './monitor.ts'
import '../styles/panels.css'

const askMs = 1000
const timeoutMs = 5000

interface Seen {
  readonly reply: MonitorReply | null
  readonly processes: readonly MonitorProcess[]
  /** Why there is nothing newer; null if there is no fault. */
  readonly fault: string | null
}

export function Monitor() {
  const { reply, processes, fault } = useMonitor()
  const charts = chartsOf(processes)
  const rows = processRows(processes)
  return (
    <div className="monitor" id="monitor" tabIndex={-1}>
      <div className="monitor-head">
        <h2>Monitor</h2>
        <p>{reply ? `${formatServer(reply)}.` : 'Asking the server…'}</p>
      </div>
      <output className="monitor-fault">{fault ?? formatTrouble(processes)}</output>
      {reply && charts.length === 0 && <p className="small">The first second is being measured.</p>}
      <dl className="monitor-charts" data-stale={fault !== null}>
        {charts.map((chart) => (
          <Chart key={chart.name} chart={chart} />
        ))}
      </dl>
      {rows.length > 0 && <Processes rows={rows} />}
      {charts.length > 0 && (
        <p className="small">
          Each line is the last {secondsKept / 60} minutes, from left to right; a paler line belongs to the
          words below the figure. The server measures only while this view is open somewhere.{' '}
          <a href="/metrics">For Prometheus</a>
        </p>
      )}
    </div>
  )
}

function Processes({ rows }: { readonly rows: readonly ProcessRow[] }) {
  return (
    <table className="monitor-processes">
      <caption>Each process in the last second</caption>
      <thead>
        <tr>
          <th scope="col">Process</th>
          <th scope="col">Windows</th>
          <th scope="col" className="monitor-wide">
            Messages in
          </th>
          <th scope="col" className="monitor-wide">
            Messages out
          </th>
          <th scope="col">Processor</th>
          <th scope="col">Memory</th>
          <th scope="col" className="monitor-wide">
            Event loop late: median, most
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, windows, stored, sent, cpu, memory, loop }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{windows}</td>
            <td className="monitor-wide">{stored}</td>
            <td className="monitor-wide">{sent}</td>
            <td>{cpu}</td>
            <td>{memory}</td>
            <td className="monitor-wide">{loop}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Chart({ chart }: { readonly chart: MonitorChart }) {
  const { name, figure, beside, line, other, top, topWords } = chart
  return (
    <div className="monitor-chart">
      <dt>{name}</dt>
      <dd>
        <span className="monitor-figure">{figure}</span>
        <span className="monitor-beside">{beside}</span>
        <span className="monitor-plot" aria-hidden="true">
          <span className="monitor-top">{topWords}</span>
          <svg viewBox={`0 0 ${secondsKept - 1} 100`} preserveAspectRatio="none" aria-hidden="true">
            {other && <path className="monitor-line monitor-other" d={pathOf(other, top)} />}
            <path className="monitor-line" d={pathOf(line, top)} />
          </svg>
        </span>
      </dd>
    </div>
  )
}

/** Lines and, for a second between gaps, a dot. */
function pathOf(values: readonly (number | null)[], top: number): string {
  let path = ''
  let isOpen = false
  for (const [second, value] of values.entries()) {
    if (value !== null) path += `${isOpen ? 'L' : 'M'}${second} ${(100 - (100 * value) / top).toFixed(1)}`
    if (value !== null && !isOpen) path += 'h0'
    isOpen = value !== null
  }
  return path
}

/** Requests new seconds once a second while the page is visible. */
function useMonitor(): Seen {
  const [seen, setSeen] = useState<Seen>({ reply: null, processes: [], fault: null })
  useEffect(() => {
    const ending = new AbortController()
    const http = openHttp(ending.signal, timeoutMs)
    let stop: Cancel = nothingPlanned
    let known: readonly MonitorProcess[] = []

    async function ask(): Promise<void> {
      try {
        if (document.visibilityState === 'visible') {
          const { answer: reply } = await http.get<MonitorReply>(`/monitor?after=${newestOf(known)}`)
          known = withReply(known, reply)
          setSeen({ reply, processes: known, fault: null })
        }
      } catch (error) {
        if (ending.signal.aborted) return
        const { sentence } = asClosing(error)
        setSeen((last) => ({ ...last, fault: sentence }))
      }
      stop = browserTimers.later(() => void ask(), askMs)
    }

    void ask()
    return () => {
      ending.abort()
      stop()
    }
  }, [])
  return seen
}
