// Checks the settings that have to fit one another.

import { ConfigError } from './error.ts'
import type { Config } from './schema.ts'

/** Where a setting came from, to stand in brackets. */
export type OriginOf = (key: string) => string

/** A polled WindSonic answers within 130 ms (manual 1405-PS-0019, polled mode). */
const mostQuestionsHz = 7

/** Throws ConfigError for the first two settings that do not go together. */
export function crossCheck(config: Config, originOf: OriginOf): void {
  const fault = faults(config, originOf).find(({ holds }) => holds)
  if (fault !== undefined) throw new ConfigError(fault.sentence)
}

interface Fault {
  readonly holds: boolean
  readonly sentence: string
}

function faults({ port, http1Port, tls, sensor, limits }: Config, originOf: OriginOf): Fault[] {
  const from = (key: string) => `(from ${originOf(key)})`
  return [
    {
      holds: port === http1Port && port !== 0,
      sentence: `port ${from('port')} and http1Port ${from('http1Port')} are both ${port}; each needs a port of its own.`,
    },
    {
      holds: tls.certFile !== null && tls.keyFile === null,
      sentence: `tls.certFile is set ${from('tls.certFile')} but tls.keyFile is not; the two go together.`,
    },
    {
      holds: tls.certFile === null && tls.keyFile !== null,
      sentence: `tls.keyFile is set ${from('tls.keyFile')} but tls.certFile is not; the two go together.`,
    },
    ...sensorFaults(sensor, from),
    {
      holds: limits.queueBytesPerWindow < limits.maxMessageBytes,
      sentence: `limits.queueBytesPerWindow is ${limits.queueBytesPerWindow} ${from('limits.queueBytesPerWindow')}; it has to hold a message of limits.maxMessageBytes, ${limits.maxMessageBytes} ${from('limits.maxMessageBytes')}.`,
    },
    {
      holds: limits.logBytes < limits.maxMessageBytes,
      sentence: `limits.logBytes is ${limits.logBytes} ${from('limits.logBytes')}; it has to hold a message of limits.maxMessageBytes, ${limits.maxMessageBytes} ${from('limits.maxMessageBytes')}.`,
    },
  ]
}

function sensorFaults({ source, path, file, mode, rateHz }: Config['sensor'], from: OriginOf): Fault[] {
  return [
    {
      holds: source === 'serial' && path === null,
      sentence: `sensor.source is "serial" ${from('sensor.source')} but sensor.path is not set; name the serial port, such as --sensor-path /dev/ttyUSB0 (npm run sensor -- --list shows the ports).`,
    },
    {
      holds: source === 'recorded' && file === null,
      sentence: `sensor.source is "recorded" ${from('sensor.source')} but sensor.file is not set; name the raw log, such as --sensor-file wind.log.`,
    },
    {
      holds: mode === 'polled' && rateHz > mostQuestionsHz,
      sentence: `sensor.rateHz is ${rateHz} ${from('sensor.rateHz')}; a sensor that is polled ${from('sensor.mode')} takes up to 130 ms to answer, so it can be asked ${mostQuestionsHz} times a second at most.`,
    },
  ]
}
