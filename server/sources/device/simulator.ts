// The default source: a WindSonic made of numbers, so that there is wind to see without a sensor.

import type { Random } from '../../wire/random.ts'
import type { Timers } from '../../wire/time.ts'
import type { ByteSource, Listening } from '../byte-source.ts'
import { messageOf } from './meaning.ts'
import { readSettings } from './settings.ts'
import { createWindSonic, type DeviceOptions } from './windsonic.ts'

export interface SimulatorOpening extends Listening, DeviceOptions {
  readonly timers: Timers
  readonly random: Random
}

/** P3, as fast as a WindSonic sends. */
const usualRateHz = 4
/** More than any frame: the default source has no port whose buffer could part one. */
const wholeFrames = 256

/**
 * A sensor that has been running and sends by itself: Gill polar in m/s, 4 a second, unless the options say otherwise.
 * Frame n has arrived at start + n / rate whatever the timers did before, so the rate never drifts; what a stall of up to
 * 10 s held up is caught up with. Never closes by itself. Throws an Error on options that no sensor has, and on M3 and
 * M4, which nobody here would poll.
 */
export function openSimulator({ onOpen, onBytes, timers, ...options }: SimulatorOpening): ByteSource {
  if (messageOf(readSettings(options.configuration ?? '')).isPolled)
    throw new RangeError(
      `"${options.configuration}" waits to be polled; the simulated source sends by itself: M1, M2, M5.`,
    )
  const namesRate = /\bP\d/.test(options.configuration ?? '')
  const device = createWindSonic({
    ...(namesRate ? {} : { rateHz: usualRateHz }),
    ...options,
    timers,
    isPoweredUp: false,
    pieceBytes: wholeFrames,
    onBytes: (bytes) => onBytes(bytes, timers.now()),
  })
  const cancel = timers.later(onOpen, 0)
  return {
    async stop() {
      cancel()
      device.stop()
    },
  }
}
