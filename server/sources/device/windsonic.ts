// A WindSonic as a device: bytes in as a host writes them, bytes out as the sensor sends them.

import type { Random } from '../../wire/random.ts'
import type { Timers } from '../../wire/time.ts'
import { banner } from './banner.ts'
import { messageOf } from './meaning.ts'
import { beConfigured, type Mode, sendContinuously, waitForPolls } from './modes.ts'
import { createSetup, type SetupOptions } from './setup.ts'
import { createVoice, type VoiceOptions } from './voice.ts'

/** Which WindSonic, in which wind, with which troubles. */
export interface DeviceOptions extends SetupOptions, VoiceOptions {}

export interface DeviceOpening extends DeviceOptions {
  readonly timers: Timers
  /** Wind and noise have each a stream of their own made of it, so that noise changes no wind. */
  readonly random: Random
  /** Powered up now: says its banner, and is deaf to polls for 5 s. Otherwise it has been running. */
  readonly isPoweredUp: boolean
  /** How many bytes a host gets at once; 16 as of a serial port's buffer, or more for whole frames. */
  readonly pieceBytes: number
  onBytes(bytes: Uint8Array): void
}

export interface Device {
  /** What a host writes. */
  write(bytes: Uint8Array): void
  /** Nothing is heard of it from here on. */
  stop(): void
}

/** "Allow 5 seconds from switch on before sending poll commands" (manual 1405-PS-0019, section 9.3). */
const deafMs = 5000

/**
 * Nothing is heard of it before this call returned. Throws an Error that names an option which no sensor has. In
 * configuration mode lines end with CR LF whatever L says, and what is set is in force at once, which is unverified.
 */
export function createWindSonic(opening: DeviceOpening): Device {
  const { timers, random, isPoweredUp } = opening
  const readyAt = timers.now() + (isPoweredUp ? deafMs : 0)
  const setup = createSetup(opening)
  const voice = createVoice({ ...opening, setup })

  function powerUp(): Mode {
    if (setup.settings.H === '1') voice.say(banner)
    return measure()
  }

  function measure(): Mode {
    const { rateHz, byteMs, settings } = setup
    const common = { timers, rateHz, onConfigure: configure }
    if (messageOf(settings).isPolled)
      return waitForPolls({
        ...common,
        random,
        readyAt,
        node: settings.N,
        onReply: (samples) => voice.frame(samples / rateHz),
        onIdentify: () => voice.say([settings.N]),
      })
    const onDue = (dueAt: number) => voice.frame(1 / rateHz, dueAt)
    return sendContinuously({ ...common, byteMs, startAt: voice.freeAt(), onDue })
  }

  function configure(): void {
    mode.stop()
    voice.say(['CONFIGURATION MODE'])
    mode = beConfigured(obey)
  }

  /** The echo still goes at the old baud rate. */
  function obey(command: string): void {
    const { byteMs } = setup
    const { lines, isLeaving } = setup.obey(command)
    voice.say(lines, byteMs)
    if (isLeaving) mode = powerUp()
  }

  let mode = isPoweredUp ? powerUp() : measure()
  return {
    write(bytes) {
      for (const byte of bytes) mode.take(String.fromCharCode(byte))
    },
    stop() {
      mode.stop()
      voice.stop()
    },
  }
}
