// View models of wind panel, figures and dial.

import type { ReadingBody } from '../../app/shared/page-messages.ts'
import { meanMs, type WindFigures, type WindMean } from '../../app/shared/wind-statistics.ts'
import type { Axes } from '../../sensor/readings.ts'
import { toMetresPerSecond, type WindUnit } from '../../sensor/wind-units.ts'
import { unitShown, type WindView } from '../store.ts'
import {
  beaufortName,
  compassLetters,
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
  const fault = reading?.state === 'fault' ? faultSentence(reading.status) : null
  return {
    state,
    /** Replaces the speed; null when it is shown. */
    word: { none: '–', fault: 'Fault', calm: 'Calm', measured: null }[state],
    speed: speed === null ? null : quantityIn(unit, speed),
    /** A mean over 3 s; false for a single reading. */
    isMean: mean !== null,
    /** The wind's origin in whole degrees. */
    directionDegrees: direction === null ? null : wholeDegrees(direction),
    directionWords: direction === null ? withoutDirection[state] : `from the ${compassPoint(direction)}`,
    isStale: isOld,
    unit,
    /** The age of an old reading; else the ten minutes' mean as a word; null while there is none. */
    summary: isOld ? `Last reading ${formatTime(ageMs)} ago` : forceOf(figures.tenMinutes),
    /** A sentence, constant while the problem lasts; null if there is none. */
    trouble: sensorTrouble ?? (isOld && isConnected ? staleSentence : isOld ? null : fault),
    source: reading?.source ?? sensor?.source ?? null,
    /** Axes, heating and the note on a recorded log; null for none. */
    asideWords: [...(reading ? asides(reading, unit) : []), sensor?.note].filter(Boolean).join(' · ') || null,
  }
}

const forceOf = (mean: WindMean | null) =>
  mean && mean.coversMs >= minCoveredMs ? beaufortName(mean.speedMetresPerSecond) : null

const withoutDirection = {
  none: 'No reading yet',
  fault: 'No measurement',
  calm: 'Too light for a direction',
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

export interface FigureModel extends Quantity {
  readonly label: string
  /** Such as `(so far 9 min)`; empty once the span is full. */
  readonly soFar: string
  /** Below the number, abbreviated and spoken; may be empty. `besideMore` begins it where there is room. */
  readonly besideMore: string
  readonly beside: string
  readonly spokenBeside: string
}

const spreadMs = 60_000
const minCoveredMs = 10_000

/** `ageMs`: the newest reading's age; hides figures whose whole span is older. */
export function figureModels(figures: WindFigures, unit: WindUnit, ageMs: number): readonly FigureModel[] {
  const { twoMinutes, tenMinutes } = meanMs
  const gust = ageMs < tenMinutes ? figures.gustMetresPerSecond : null
  const spread = ageMs < spreadMs ? figures.spread : null
  const meanModel = (figure: WindMean | null, spanMs: number) => {
    // Too few readings for a mean.
    const mean = figure && ageMs < spanMs && figure.coversMs >= minCoveredMs ? figure : null
    return {
      label: `Mean, ${formatTime(spanMs)}`,
      // Said once: the others cover as much, or their whole time.
      soFar: spanMs === tenMinutes ? formatSoFar(mean, spanMs) : '',
      ...quantityIn(unit, mean?.speedMetresPerSecond ?? null),
      ...directionBeside(mean?.directionDegrees ?? null, 'from'),
    }
  }
  return [
    meanModel(figures.twoMinutes, twoMinutes),
    meanModel(figures.tenMinutes, tenMinutes),
    {
      label: `Gust, ${formatTime(tenMinutes)}`,
      soFar: '',
      ...quantityIn(unit, gust),
      besideMore: gust === null ? '' : 'highest ',
      beside: gust === null ? '' : '3 s mean',
      spokenBeside: gust === null ? '' : 'highest mean over 3 seconds',
    },
    {
      label: `Spread, ${formatTime(spreadMs)}`,
      soFar: '',
      number: spread && `±${Math.round(spread.deviationDegrees)}°`,
      unit: '',
      spokenUnit: '',
      ...directionBeside(spread?.directionDegrees ?? null, 'about'),
    },
  ]
}

function directionBeside(directionDegrees: number | null, preposition: string) {
  if (directionDegrees === null) return { besideMore: '', beside: '', spokenBeside: '' }
  const degrees = wholeDegrees(directionDegrees)
  return {
    besideMore: '',
    beside: `${degrees}° ${compassLetters(degrees)}`,
    spokenBeside: `${preposition} ${degrees} degrees, ${compassPoint(degrees)}`,
  }
}

function formatSoFar(mean: WindMean | null, spanMs: number): string {
  if (!mean || mean.coversMs > 0.95 * spanMs) return ''
  // Tens of seconds stay readable.
  return `(so far ${formatTime(Math.floor(mean.coversMs / 10_000) * 10_000)})`
}

export type DialModel = ReturnType<typeof dialModel>

/** An old reading keeps its number and direction; a missing direction is never shown as north. */
export function dialModel(wind: WindModel, { gustMetresPerSecond: gust, spread }: WindFigures) {
  const { state, word, speed, isMean, directionDegrees, isStale, unit } = wind
  const isLive = !isStale && (state === 'measured' || state === 'calm')
  return {
    word,
    number: speed?.number ?? null,
    unit: speed && (isMean ? `${speed.unit}, 3 s mean` : speed.unit),
    /** Such as "gust 8.4"; null also beside a single reading, which may exceed it. */
    gust: isLive && isMean && gust !== null ? `gust ${speedIn(unit, gust)}` : null,
    directionDegrees,
    spread: isLive ? spread : null,
    isStale,
    isFault: state === 'fault',
  }
}

export function dialSentence(wind: WindModel, { gustMetresPerSecond, spread }: WindFigures): string {
  const { state, speed, isMean, directionDegrees, directionWords, unit } = wind
  if (state === 'none') return 'Wind dial: no reading yet.'
  if (state === 'fault') return 'Wind dial: no measurement, the sensor reports a fault.'
  const parts = [
    state === 'calm' ? 'calm' : `${speed?.number} ${speed?.spokenUnit}${isMean ? ' over 3 seconds' : ''}`,
    directionDegrees !== null && `${directionWords}, ${directionDegrees} degrees`,
    isMean && gustMetresPerSecond !== null && `gust ${speedIn(unit, gustMetresPerSecond)}`,
    spread && `swinging ${wholeDegrees(spread.deviationDegrees)} degrees to either side`,
  ]
  return `Wind dial${wind.isStale ? ', last reading' : ''}: ${parts.filter(Boolean).join(', ')}.`
}
