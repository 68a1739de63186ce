// The view that compares the modes from this browser, and diagnoses the network.

import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { PageStart } from '../../app/shared/page-messages.ts'
import { addressInView } from '../../app/shared/views.ts'
import { browserTimers, limitToSlots, newName } from '../../client/transports.ts'
import { nameUnder } from '../../protocol/messages.ts'
import { connections, type WindowMode } from '../../protocol/modes.ts'
import { freeTransports } from '../axios-http.ts'
import { type CommonProps, type PageProps, useView } from '../page/hooks.ts'
import { formatMs } from '../page/late-wording.ts'
import { usedMode } from '../page/wording.ts'
import { type BrowserKey, baseFor, offeredModes } from '../page-session.ts'
import { keepMedians } from '../store.ts'
import { advise, formatAdvice, inWords } from './advice.ts'
import {
  estimateOf,
  type Failure,
  formatInterval,
  formatLoss,
  formatVerdict,
  planAsked,
  type Result,
  type Row,
  ranked,
  rowsOf,
  type Turn,
  usualPlan,
} from './comparison.ts'
import {
  choiceReason,
  choices,
  diagnoseClock,
  diagnoseHttp2,
  diagnoseSockets,
  diagnoseStreams,
  drawback,
  type Trial,
} from './diagnosis.ts'
import { asLinked, fragmentOf, resultIn } from './result-link.ts'
import { compare, countStreams, type MeasuringParts, measureTurn, type Progress } from './runner.ts'
import '../styles/panels.css'

export function Compare(page: PageProps) {
  const { store, actions, start } = page
  const linked = useLinkedResult()
  const { progress, finished, failure, run, stop } = useComparison(page)
  const panel = useRef<HTMLDivElement>(null)
  const offered = offeredModes(start)
  const rounds = progress ? [...progress.rounds, progress.current] : (finished?.rounds ?? [])
  const rows = linked.result?.rows ?? finished?.result.rows ?? rowsOf(rounds, offered)
  const hasResult = linked.result !== null || finished !== null
  const nameInUse = useView(store, (view) => usedMode(view.link))
  const advice = hasResult ? advise(rows, linked.result ? null : nameInUse) : null
  const use = ({ name }: WindowMode) => actions.switchMode(name)
  const turns = linked.result ? [] : firstTurns(rounds, offered)
  const hasAll = turns.length === offered.length
  return (
    <div className="comparison" id="comparison" tabIndex={-1} ref={panel}>
      <div className="comparison-head">
        <h2>Which is fastest here?</h2>
        {!hasResult && (
          <p>
            In about half a minute this page times every mode to this server. Then it says which one to use.
          </p>
        )}
        {(linked.fault ?? failure) && <p className="comparison-fault">{linked.fault ?? failure}</p>}
        <output className="comparison-verdict">
          {linked.result && <p className="small">{formatOrigin(linked.result)}</p>}
          {advice && <Sentences {...formatAdvice(advice)} />}
        </output>
      </div>
      <div className="comparison-controls row" data-measuring={progress !== null}>
        {advice?.kind === 'faster' && (
          <button
            type="button"
            className="button primary-button comparison-switch"
            onClick={() => {
              use(advice.best.mode)
              // The button goes, and the focus would with it.
              panel.current?.focus({ preventScroll: true })
            }}
          >
            Use {inWords(advice.best)}
          </button>
        )}
        {progress ? (
          <button type="button" className="button" onClick={stop}>
            Stop
          </button>
        ) : (
          <button
            type="button"
            className={`button comparison-start ${finished ? '' : 'primary-button'}`}
            onClick={() => {
              linked.leave()
              void run()
            }}
          >
            {hasResult ? (linked.result ? 'Measure here' : 'Again') : 'Start'}
          </button>
        )}
        {progress && <ProgressWords progress={progress} />}
        {!progress && finished && !linked.result && <CopyLink result={finished.result} />}
      </div>
      {(hasResult || progress) && (
        <Rows rows={hasResult ? ranked(rows) : rows} rounds={linked.result ? null : rounds}>
          {(row) =>
            !linked.result &&
            !progress && <UseMode row={row} nameInUse={nameInUse} onUse={() => use(row.mode)} />
          }
        </Rows>
      )}
      {(progress || hasAll) && (
        <section className="comparison-choice" aria-labelledby="comparison-choice">
          <h3 id="comparison-choice">For everyone on this network</h3>
          <p>{hasAll ? formatChoice(turns, finished ? rows : []) : 'Known after the first round.'}</p>
        </section>
      )}
      <div>
        <Method verdict={hasResult ? formatVerdict(rows) : null} />
        <Network
          store={store}
          start={start}
          browser={actions.browser}
          turns={hasAll ? turns : []}
          finished={linked.result ? [] : (finished?.rounds ?? [])}
          isMeasuring={progress !== null}
        />
      </div>
    </div>
  )
}

/**
 * A comparison in this window: running (`progress`), finished, failed (a sentence), or none of them before the first
 * one. It ends with the view.
 */
function useComparison({ store, actions, start }: PageProps) {
  const [progress, setProgress] = useState<Progress | null>(null)
  const [finished, setFinished] = useState<Finished | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const stopping = useRef<AbortController | null>(null)
  useEffect(() => () => stopping.current?.abort(), [])

  async function run(): Promise<void> {
    setFailure(null)
    setFinished(null)
    const ending = new AbortController()
    stopping.current = ending
    const { signal } = ending
    const offered = offeredModes(start)
    try {
      const parts = measuringParts(start, store, actions.browser)
      const plan = planAsked(location.search)
      const rounds = await compare({
        modes: offered,
        plan,
        timers: browserTimers,
        random: Math.random,
        visibility,
        signal,
        onProgress: setProgress,
        measure: (mode, until) => measureTurn(mode, plan, parts, until),
      })
      if (rounds.length > 0) {
        const result = asLinked({
          at: browserTimers.now(),
          browser: formatBrowser(),
          rows: rowsOf(rounds, offered),
        })
        keepMedians(() => localStorage, mediansIn(result))
        setFinished({ result, rounds })
      }
    } catch (error) {
      setFailure(`The comparison failed: ${error instanceof Error ? error.message : error}`)
    } finally {
      stopping.current = null
      setProgress(null)
    }
  }

  return { progress, finished, failure, run, stop: () => stopping.current?.abort() }
}

const Sentences = ({ sentence, reason }: ReturnType<typeof formatAdvice>) => (
  <>
    <p className="comparison-advice">{sentence}</p>
    <p className="comparison-reason">{reason}</p>
  </>
)

interface Finished {
  readonly result: Result
  readonly rounds: readonly (readonly Turn[])[]
}

function measuringParts(
  start: PageStart,
  store: CommonProps['store'],
  { key, fingerprint }: BrowserKey,
): MeasuringParts {
  return {
    transports: limitToSlots(freeTransports),
    baseFor: (http) => baseFor(http, start, location),
    polling: start.polling,
    key,
    heldStreams: store.view().browserHttp1Streams,
    newName: () => nameUnder(fingerprint, newName('p')),
    timers: browserTimers,
    random: Math.random,
  }
}

const visibility = {
  isVisible: () => document.visibilityState === 'visible',
  onChange(run: () => void) {
    document.addEventListener('visibilitychange', run)
    return () => document.removeEventListener('visibilitychange', run)
  },
}

/** The result in the address, if any. */
function useLinkedResult() {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const look = () => setHash(location.hash)
    addEventListener('hashchange', look)
    return () => removeEventListener('hashchange', look)
  }, [])
  const read = resultIn(hash)
  return {
    result: typeof read === 'string' ? null : read,
    fault: typeof read === 'string' ? read : null,
    leave(): void {
      if (read === null) return
      history.replaceState(null, '', location.pathname + location.search)
      setHash('')
    },
  }
}

const browserPatterns = [
  [/Edg\/(\d+)/, 'Edge'],
  [/Firefox\/(\d+)/, 'Firefox'],
  [/Chrome\/(\d+)/, 'Chromium'],
  [/Version\/(\d+)/, 'Safari'],
] as const

function formatBrowser(): string {
  const named = browserPatterns.map(([pattern, name]) => [name, pattern.exec(navigator.userAgent)?.[1]])
  return named.find(([, version]) => version)?.join(' ') ?? ''
}

const mediansIn = ({ at, rows }: Result) => ({
  at,
  ms: Object.fromEntries(
    rows.flatMap((row) => {
      const estimate = estimateOf(row)
      return estimate ? [[row.mode.name, estimate.medianMs]] : []
    }),
  ),
})

function ProgressWords({ progress }: { progress: Progress }) {
  const { rounds, measuring, isPaused, tookMs } = progress
  const plan = planAsked(location.search)
  const share = plan.rounds === null ? tookMs / plan.budgetMs : rounds.length / plan.rounds
  if (isPaused) return <span className="comparison-progress">Paused: the page is hidden.</span>
  return (
    <>
      <progress max={1} value={Math.min(1, share)} aria-label="Progress" />
      <span className="comparison-progress">
        <span className="comparison-round">Round {rounds.length + 1}: </span>
        {measuring?.label}
      </span>
    </>
  )
}

function CopyLink({ result }: { result: Result }) {
  const [outcome, setOutcome] = useState('Open it')
  const address = `${addressInView(location.href, 'compare').split('#')[0]}${fragmentOf(result)}`
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(address)
      setOutcome('Copied')
    } catch {
      // The clipboard needs permission.
      history.replaceState(null, '', address)
      setOutcome('Now in the address bar')
    }
  }
  return (
    <>
      <button type="button" className="button" onClick={copy}>
        Copy link to this result
      </button>
      <a className="comparison-link small" href={address}>
        {outcome}
      </a>
    </>
  )
}

const dateTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short' })

const formatOrigin = ({ at, browser }: Result) =>
  `Measured elsewhere: ${browser || 'a browser'}, ${dateTime.format(at)}.`

/** Missing probes show in the count. */
const failureWords: Readonly<Record<Exclude<Failure, 'missing'>, string>> = {
  late: `Did not open within ${usualPlan.openWithinMs / 1000} s`,
  full: 'Other windows of this browser hold all the connections',
  unsupported: 'Not supported by this browser',
  refused: 'The server refused it',
  lost: 'The connection failed',
  instead: 'The browser used HTTP/2 instead',
}

function noteOf({ mode, serverHttp, sent, received, failure }: Row): string {
  const isWhole = sent === 0 || (received === sent && failure === null)
  const counted = isWhole ? [] : [`${received} of ${sent} arrived`]
  const via = serverHttp === null || serverHttp === mode.http ? [] : [`the server sees HTTP/${serverHttp}`]
  const why = failure && failure !== 'missing' ? [failureWords[failure]] : []
  return [...why, ...counted, ...via].join(' · ')
}

const timesIn = (rounds: readonly (readonly Turn[])[], { mode }: Row): number[] =>
  rounds.flatMap((turns) => {
    const turn = turns.find((one) => one.mode.name === mode.name)
    return (turn?.times ?? []).filter((time) => time !== null)
  })

interface RowsProps {
  readonly rows: readonly Row[]
  /** Null shows the rounds' medians. */
  readonly rounds: readonly (readonly Turn[])[] | null
  readonly children: (row: Row) => ReactNode
}

function Rows({ rows, rounds, children }: RowsProps) {
  const dotsIn = (row: Row) =>
    rounds ? timesIn(rounds, row) : row.medians.filter((median) => median !== null)
  const axis = axisOf(rows.flatMap((row) => [...dotsIn(row), ...(estimateOf(row)?.interval ?? [])]))
  return (
    <ol className="comparison-rows">
      {rows.map((row) => (
        <li key={row.mode.name}>
          <span className="comparison-mode" title={row.mode.name}>
            {row.mode.label}
          </span>
          <Figure row={row} />
          <Dots times={dotsIn(row)} row={row} axis={axis} />
          <span className="comparison-note small">{noteOf(row)}</span>
          <span className="comparison-use">{children(row)}</span>
        </li>
      ))}
      <li className="comparison-axis" aria-hidden="true">
        <div className="comparison-plot small">
          {axis.ticks.map((tick) => (
            <span key={tick} style={{ left: `clamp(1.5rem, ${axis.placeOf(tick) * 100}%, 100% - 1.5rem)` }}>
              {tick < 1000 ? `${tick} ms` : `${tick / 1000} s`}
            </span>
          ))}
        </div>
      </li>
    </ol>
  )
}

function Figure({ row }: { row: Row }) {
  const estimate = estimateOf(row)
  return (
    <span className="comparison-figure">
      {estimate ? <b>{formatMs(estimate.medianMs)}</b> : '–'}
      {estimate?.interval && <span className="small"> {formatInterval(estimate.interval)}</span>}
    </span>
  )
}

type Axis = ReturnType<typeof axisOf>

/** A logarithmic axis between powers of ten, or their double or half, with at most five ticks. */
function axisOf(times: readonly number[]) {
  const steps = [-2, -1, 0, 1, 2, 3, 4].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power))
  const least = Math.min(1, ...times)
  const most = Math.max(10, ...times)
  const low = steps.findLast((step) => step <= least) ?? 0.01
  const high = steps.find((step) => step >= most) ?? 50_000
  const placeOf = (time: number) =>
    Math.min(1, Math.max(0, Math.log(Math.max(time, low) / low) / Math.log(high / low)))
  const within = steps.filter((step) => step >= low && step <= high)
  const isMany = within.length > 5
  const ticks = within.filter((step) => !isMany || Number.isInteger(Math.log10(step)))
  return { placeOf, ticks: ticks.map((tick) => Number(tick.toPrecision(1))) }
}

const width = 1000
const height = 36

function Dots({ times, row, axis }: { times: readonly number[]; row: Row; axis: Axis }) {
  const x = (time: number) => (axis.placeOf(time) * width).toFixed(1)
  const estimate = estimateOf(row)
  // In five lanes, so that equal values stay visible.
  const lane = (index: number) => 6 + ((index * 2) % 5) * 6
  return (
    <div className="comparison-plot" aria-hidden="true">
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        <path className="plot-ticks" d={axis.ticks.map((tick) => `M${x(tick)} 0v${height}`).join('')} />
        <path className="plot-dots" d={times.map((time, index) => `M${x(time)} ${lane(index)}h0`).join('')} />
        {estimate?.interval && (
          <path
            className="plot-interval"
            d={`M${x(estimate.interval[0])} ${height / 2}H${x(estimate.interval[1])}`}
          />
        )}
        {estimate && <path className="plot-median" d={`M${x(estimate.medianMs)} ${height / 2}h0`} />}
      </svg>
    </div>
  )
}

interface UseModeProps {
  readonly row: Row
  readonly nameInUse: string
  readonly onUse: () => void
}

function UseMode({ row, nameInUse, onUse }: UseModeProps) {
  if (row.mode.name === nameInUse) return <strong>In use</strong>
  if (estimateOf(row) === null) return null
  return (
    <button type="button" className="text-button" aria-label={`Use this: ${row.mode.label}`} onClick={onUse}>
      Use this
    </button>
  )
}

/** `verdict` is null before a result. */
function Method({ verdict }: { verdict: string | null }) {
  return (
    <details className="comparison-more">
      <summary>How it measures</summary>
      {verdict && <p>{verdict}</p>}
      <p>
        In each mode this page opens two connections of its own, and sends messages as small as one keystroke
        over one. What is measured is what another window would see: the time until each arrives on the second
        connection. The sender’s own connection gets it, too, which is not counted. Both ends are this page,
        so one clock times both.
      </p>
      <p>
        The modes take turns, in rounds of random order, for about half a minute, or longer on a slow network.
        The first message of a turn warms up its connections and is not counted; each later message is sent
        after the previous one is acknowledged. Browsers slow down hidden pages: a round in which this one was
        hidden is measured again.
      </p>
      <p>
        The figure is the geometric mean of the rounds’ medians, with a 95 % interval from Student’s t over
        the rounds; a message that does not arrive counts as later than all that do. The mode that this window
        uses is compared with each other mode, and so is the one with the lowest figure: round by round on the
        logarithms of the medians, with intervals that hold together at 95 % (Bonferroni). Modes that differ
        were slower; the others may be just as fast. A mode that lost messages or its connection is not
        advised. The result holds for this browser, this network and this hour.
      </p>
    </details>
  )
}

/** The first turn of each of the modes that had one. */
const firstTurns = (rounds: readonly (readonly Turn[])[], of: readonly WindowMode[]): Turn[] =>
  of.flatMap((mode) => rounds.flatMap((turns) => turns.filter((turn) => turn.mode === mode)).slice(0, 1))

interface NetworkProps {
  readonly store: CommonProps['store']
  readonly start: PageStart
  readonly browser: BrowserKey
  /** The first turn of every mode; empty until all had one. */
  readonly turns: readonly Turn[]
  /** Rounds of the finished comparison; empty before. */
  readonly finished: readonly (readonly Turn[])[]
  readonly isMeasuring: boolean
}

const streamsTried = 8
const streamsWithinMs = 3000
/** A browser opens at most six of these to a host. */
const isLimited = ({ isPush, windowsPerBrowser }: WindowMode) => isPush && windowsPerBrowser !== null

function Network({ store, start, browser, turns, finished, isMeasuring }: NetworkProps) {
  const clock = useView(store, (view) => view.link.clock)
  const alpn = useAlpn(start)
  const limited = offeredModes(start).find(isLimited)
  const [opened, setOpened] = useState<Opened | 'counting' | null>(null)

  async function count(mode: WindowMode): Promise<void> {
    setOpened('counting')
    const parts = { ...measuringParts(start, store, browser), transports: freeTransports }
    setOpened(await countStreams(mode, streamsTried, streamsWithinMs, parts))
  }

  const findings = [
    ...(turns.length > 0 ? findingsIn(turns, alpn) : []),
    formatLoss(finished.flat()),
    diagnoseClock(clock),
    formatStreams(opened),
  ].filter(Boolean)
  return (
    <details className="comparison-more">
      <summary>What this network lets through</summary>
      <ul className="comparison-findings">
        {turns.length === 0 && (
          <li>The first round shows which modes get through between this window and the server.</li>
        )}
        {findings.map((finding) => (
          <li key={finding}>{finding}</li>
        ))}
      </ul>
      {limited && (
        <div className="comparison-controls row">
          <button
            type="button"
            className="button"
            disabled={isMeasuring || opened === 'counting'}
            onClick={() => count(limited)}
          >
            Count streams over HTTP/1.1
          </button>
          <span className="small">
            Opens {streamsTried} at once, for {streamsWithinMs / 1000} s; other windows of this browser may
            have to wait.
          </span>
        </div>
      )}
      <p>
        Whether idle connections are cut takes longer to find out, and is not tested here.{' '}
        <a href="/lab">Reports of the lab</a>
      </p>
    </details>
  )
}

/** False if this browser lacks connections or the feature, which says nothing about the network. */
const tellsOfNetwork = (turn: Turn) => turn.closing?.code !== 'full' && turn.closing?.code !== 'unsupported'

const trialsOf = (turns: readonly Turn[]): Trial[] =>
  turns.filter(tellsOfNetwork).map((turn) => ({ ...turn, cutAfterMs: null }))

function findingsIn(turns: readonly Turn[], alpn: string | null): (string | null)[] {
  const trials = trialsOf(turns)
  // The server's observation, for browsers that do not report the version.
  const isSeen = trials.some(({ serverHttp }) => serverHttp !== null && connections[serverHttp].isShared)
  return [
    isSeen || alpn !== null
      ? diagnoseHttp2(isSeen ? connections['2'].alpn : alpn, trials)
      : 'It is not known whether HTTP/2 arrives: no request that would use it was answered.',
    diagnoseStreams(trials),
    diagnoseSockets(trials),
  ]
}

/** `rows` is empty before a result. */
function formatChoice(turns: readonly Turn[], rows: readonly Row[]): string {
  const [best] = choices(trialsOf(turns))
  if (!best) return 'Nothing to recommend: no mode gets through.'
  const words = `${inWords(best)}: ${choiceReason(best)}.`
  const advice = advise(rows, best.mode.name)
  if (advice.kind !== 'faster') return words
  const but = drawback(advice.best.mode)
  return `${words} Faster here: ${inWords(advice.best)}${but ? `, but ${but}` : ''}.`
}

type Opened = Awaited<ReturnType<typeof countStreams>>

function formatStreams(streams: Opened | 'counting' | null): string | null {
  if (streams === null) return null
  if (streams === 'counting') return `Opening ${streamsTried} streams at once …`
  const { opened, http } = streams
  if (connections[http].isShared)
    return `${opened} of ${streamsTried} simultaneous streams opened, over HTTP/${http}: HTTP/1.1 is not in use here.`
  if (opened === streamsTried)
    return `All ${streamsTried} simultaneous streams over HTTP/${http} opened: this browser has no limit that windows would reach.`
  return `${opened} of ${streamsTried} simultaneous streams over HTTP/${http} opened, in addition to those held by this browser's windows. The browser or a proxy allows no more.`
}

/** ALPN name of the requests to the server's HTTP/2 port; null while unknown. */
function useAlpn(start: PageStart): string | null {
  const [alpn, setAlpn] = useState<string | null>(null)
  useEffect(() => {
    const address = `${baseFor('2', start, location)}/clock?alpn=${newName('')}`
    // Uses an observer, since the list of entries may be full.
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntriesByName(address) as PerformanceResourceTiming[])
        if (entry.nextHopProtocol) setAlpn(entry.nextHopProtocol)
    })
    observer.observe({ type: 'resource' })
    fetch(address, { credentials: 'include', cache: 'no-store' }).catch(() => undefined)
    return () => observer.disconnect()
  }, [start])
  return alpn
}
