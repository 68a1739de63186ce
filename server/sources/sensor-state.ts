// Judges how a real sensor is doing from what is heard of it, and says so when that changes.

import type { SensorBody } from '../wire/reading.ts'
import { nothingPlanned, type Timers } from '../wire/time.ts'
import type { Closing } from './byte-source.ts'
import { type PortSettings, portPauses } from './port/serial-line.ts'

type State = SensorBody['state']

export interface SensorWatchOpening extends PortSettings {
  readonly timers: Timers
  /** Without a good frame for this long a sensor is silent or garbled. */
  readonly silentAfterMs: number
  onChange(body: SensorBody): void
}

export interface SensorWatch {
  opened(): void
  /** A good frame came. */
  frame(): void
  /** Something came that is no good frame; `isIntact` when its checksum was right, so it is only another format. */
  noise(isIntact: boolean): void
  closed(closing: Closing): void
  stop(): void
}

/**
 * Says `connected` at the first good frame, `silent` or `garbled` after `silentAfterMs` without one, `unplugged` when
 * the port closes or will not open, and again when the reason for that changes. Says nothing twice.
 */
export function watchSensor({
  path,
  baudRate,
  timers,
  silentAfterMs,
  onChange,
}: SensorWatchOpening): SensorWatch {
  let said: string | null = null
  let isNoisy = false
  let isOtherFormat = false
  let cancel = nothingPlanned

  function say(state: State, sentence: string, because = ''): void {
    if (said === state + because) return
    said = state + because
    onChange({ source: 'serial', state, sentence })
  }

  function listenAnew(): void {
    cancel()
    isNoisy = false
    isOtherFormat = false
    cancel = timers.later(judge, silentAfterMs)
  }

  function judge(): void {
    const time = seconds(silentAfterMs)
    if (isOtherFormat) {
      const sentence = `The sensor on ${path} sends frames that are not Gill polar: set its message format to M2.`
      say('garbled', sentence, 'format')
    } else if (isNoisy) {
      const sentence = `Bytes come from ${path}, but no good frame for ${time}: wrong baud rate? now ${baudRate}.`
      say('garbled', sentence)
    } else {
      say(
        'silent',
        `The sensor on ${path} has sent nothing for ${time}: check its power and cable; still listening.`,
      )
    }
    listenAnew()
  }

  return {
    opened: listenAnew,
    frame() {
      say('connected', `The sensor on ${path} is sending readings.`)
      listenAnew()
    },
    noise(isIntact) {
      isNoisy = true
      if (isIntact) isOtherFormat = true
    },
    closed({ reason, retryInMs }) {
      cancel()
      const next = `trying again in ${seconds(retryInMs)}, then at least every ${seconds(portPauses.longestMs)}`
      say('unplugged', `No sensor at ${path} (${reason}): ${next}.`, reason)
    },
    stop: () => cancel(),
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}
