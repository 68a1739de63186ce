// View models of wind panel, figures and dial.

import type { ReadingBody } from '../../app/shared/page-messages.ts'
import type { WindHistory } from '../../app/shared/wind-history.ts'
import { meanMs, meanOf, type WindFigures } from '../../app/shared/wind-statistics.ts'
import type { Axes } from '../../sensor/readings.ts'
import { toMetresPerSecond, type WindUnit } from '../../sensor/wind-units.ts'
import { unitShown, type WindView } from '../store.ts'
import {
  beaufort,
  compassPoint,
  faultSentence,
  formatTime,
  isStale,
  type Quantity,
  quantityIn,
  speedIn,
  staleSentence,
  units,
  wholeDegrees,
} from './wind-words.ts'

export type WindModel = ReturnType<typeof windModel>

const minuteMs = 60_000
/** Fewer readings do not make a mean. */
const minCoveredMs = 10_000

/** `now`: ms since the epoch. `isConnected`: whether readings can arrive. */
export function windModel(
  wind: Pick<WindView, 'reading' | 'receivedAt' | 'sensor' | 'choices' | 'figures'>,
  now: number,
  isConnected = true,
) {
  const { reading, receivedAt, sensor, figures } = wind
  const ageMs = receivedAt === null ? null : now - receivedAt
  const isOld = ageMs !== null && isStale(ageMs)
  const unit = unitShown(wind)
  const state = reading?.state ?? 'none'
  // Never above the gust beside it, as a single reading may be.
  const mean = state === 'measured' ? figures.threeSecondMetresPerSecond : null
  const speed = state === 'fault' ? null : (mean ?? reading?.speedMetresPerSecond ?? null)
  const direction = state === 'measured' ? (reading?.directionDegrees ?? null) : null
  const sensorTrouble = sensor && sensor.state !== 'connected' ? sensor.sentence : null
  const tenMinutes = tenMinuteMean(figures)
  const fault = reading?.state === 'fault' ? faultSentence(reading.status) : null
  return {
    state,
    /** Replaces the speed; null when it is shown. */
    word: { none: '–', fault: 'Fault', calm: null, measured: null }[state],
    speed: speed === null ? null : quantityIn(unit, speed),
    /** A mean over 3 s; false for a single reading. */
    isMean: mean !== null,
    /** The wind's origin in whole degrees. */
    directionDegrees: direction === null ? null : wholeDegrees(direction),
    directionWords: direction === null ? withoutDirection[state] : `From the ${compassPoint(direction)}`,
    isStale: isOld,
    unit,
    /** Of a stale reading; null for a fresh one. */
    ageWords: isOld ? `${formatTime(ageMs)} ago` : null,
    /**
     * The Beaufort force of the ten-minute mean, of which the scale is defined, and not of the displayed
     * speed; of a shorter mean while readings cover less. Null for a stale reading.
     */
    force: tenMinutes && !isOld ? beaufort(tenMinutes.speedMetresPerSecond) : null,
    /** Of what the force is. */
    forceOf: formatSoFar(figures) === '' ? '10 min mean' : 'mean so far',
    /** A sentence, constant while the problem lasts; null if there is none. */
    trouble: sensorTrouble ?? (isOld && isConnected ? staleSentence : isOld ? null : fault),
    source: reading?.source ?? sensor?.source ?? null,
    /** Axes, heating and the note on a recorded log; null for none. */
    asideWords: [...(reading ? asides(reading, unit) : []), sensor?.note].filter(Boolean).join(' · ') || null,
  }
}

const withoutDirection = {
  none: 'No reading yet',
  fault: 'No measurement',
  calm: 'Calm: too light for a direction',
  measured: 'No direction',
}

function asides({ axes, status, unit: sentUnit }: ReadingBody, unit: WindUnit): (string | null)[] {
  // Status 60: a good reading with the heating on.
  return [axes && formatAxes(axes, sentUnit, unit), status === '60' ? 'Heating on' : null]
}

/** Signed as by the sensor: U and V, or a tunnel's single axis. */
function formatAxes({ u, v }: Axes, sentUnit: WindUnit, unit: WindUnit): string {
  const along = (speed: number) => {
    const number = speedIn(unit, toMetresPerSecond(speed, sentUnit))
    // A true minus is as wide as a plus.
    return number.startsWith('-') ? `−${number.slice(1)}` : `+${number}`
  }
  const parts = v === null ? `Axis ${along(u)}` : `U ${along(u)}  V ${along(v)}`
  return `${parts} ${units[unit].symbol}`
}

/** Null while too few readings make a mean. */
function tenMinuteMean({ tenMinutes }: WindFigures) {
  return tenMinutes && tenMinutes.coversMs >= minCoveredMs ? tenMinutes : null
}

export interface FigureModel extends Quantity {
  readonly label: string
}

/** `ageMs`: the newest reading's age; hides figures whose whole span is older. */
export function figuresModel(figures: WindFigures, unit: WindUnit, ageMs: number) {
  const isWithin = ageMs < meanMs
  const mean = isWithin ? tenMinuteMean(figures) : null
  const spread = ageMs < minuteMs ? figures.spread : null
  const row: readonly FigureModel[] = [
    { label: 'Gust', ...quantityIn(unit, isWithin ? figures.gustMetresPerSecond : null) },
    { label: 'Mean', ...quantityIn(unit, mean?.speedMetresPerSecond ?? null) },
    {
      label: 'Spread, 1 min',
      number: spread && `±${Math.round(spread.deviationDegrees)}°`,
      unit: '',
      spokenUnit: '',
    },
  ]
  return {
    label: `Last ${formatTime(meanMs)}`,
    /** Such as `, so far 9 min`; empty once the readings cover the span. */
    soFar: isWithin ? formatSoFar(figures) : '',
    row,
  }
}

function formatSoFar({ tenMinutes: mean }: WindFigures): string {
  if (!mean || mean.coversMs > 0.95 * meanMs) return ''
  if (mean.coversMs < minCoveredMs) return ', just begun'
  // Tens of seconds stay readable.
  return `, so far ${formatTime(Math.floor(mean.coversMs / 10_000) * 10_000)}`
}

/** The time of the history at `now`: the newest reading's timestamp plus its age; ms. */
export function historyTimeAt({ takenAt, receivedAt }: WindView, now: number): number {
  return takenAt === null || receivedAt === null ? 0 : takenAt + Math.max(0, now - receivedAt)
}

/** Steps in which the trail fades. */
const trailSteps = 12

/**
 * The directions of the last minute's readings, in whole degrees, by age in steps of 5 s; newest first.
 * `nowAt`: in history time, ms.
 */
export function trailOf(history: Pick<WindHistory, 'since'>, nowAt: number): readonly (readonly number[])[] {
  const steps = Array.from({ length: trailSteps }, () => new Set<number>())
  for (const { lastAt, sums } of history.since(nowAt - minuteMs, 'reading')) {
    const { directionDegrees } = meanOf(sums)
    const step = Math.max(0, Math.floor(((nowAt - lastAt) / minuteMs) * trailSteps))
    if (directionDegrees !== null) steps[step]?.add(wholeDegrees(directionDegrees))
  }
  return steps.map((step) => [...step])
}

export type DialModel = ReturnType<typeof dialModel>

/** An old reading keeps its direction; a missing direction is never shown as north. */
export function dialModel(
  { state, directionDegrees, isStale }: WindModel,
  { spread }: WindFigures,
  trail: ReturnType<typeof trailOf>,
) {
  const isLive = !isStale && (state === 'measured' || state === 'calm')
  return { state, directionDegrees, spread: isLive ? spread : null, trail, isStale }
}

export function dialSentence(wind: WindModel, { gustMetresPerSecond, spread }: WindFigures): string {
  const { state, speed, isMean, directionDegrees, directionWords, unit } = wind
  if (state === 'none') return 'Wind dial: no reading yet.'
  if (state === 'fault') return 'Wind dial: no measurement, the sensor reports a fault.'
  const parts = [
    state === 'calm' ? 'calm' : `${speed?.number} ${speed?.spokenUnit}${isMean ? ' over 3 seconds' : ''}`,
    directionDegrees !== null && `${directionWords.toLowerCase()}, ${directionDegrees} degrees`,
    isMean && gustMetresPerSecond !== null && `gust ${speedIn(unit, gustMetresPerSecond)}`,
    spread && `swinging ${wholeDegrees(spread.deviationDegrees)} degrees to either side`,
  ]
  return `Wind dial${wind.isStale ? ', last reading' : ''}: ${parts.filter(Boolean).join(', ')}.`
}
