// Entry point of `npm run sensor`: finds, shows, configures and simulates a WindSonic.

import { join } from 'node:path'
import { SerialPort } from 'serialport'
import { type Config, ConfigError, type ConfigSources, loadConfig } from './config/config.ts'
import { configure } from './sensor/configure.ts'
import { endBySignal } from './sensor/ending.ts'
import { SensorFailure } from './sensor/failure.ts'
import { notAllowed, readSensorFlags, type SensorFlags } from './sensor/flags.ts'
import { listPorts } from './sensor/list.ts'
import { listen } from './sensor/listen.ts'
import { readCommands } from './sensor/settings.ts'
import { readSimulating, simulate } from './sensor/simulate.ts'
import type { Surroundings } from './sensor/surroundings.ts'
import { createSerialPort, type PortSettings } from './sources/port/serial-line.ts'
import { processTimers } from './timers.ts'

const help = `Finds, shows, configures and simulates a WindSonic.

  npm run sensor -- --list                       the serial ports of this machine

  npm run sensor -- --listen                     what comes from the sensor, for 10 seconds
    --seconds 60                                 for longer; Ctrl-C ends it
    --mode polled --node Q --rate 4              asks a sensor that is polled

  npm run sensor -- --configure "P3 M2"          sends commands, shows answers and settings;
                                                 D3 alone changes nothing
    --node Q                                     how a polled sensor is called

  npm run sensor -- --simulate /tmp/windsonic    plays a WindSonic on a pseudo-terminal (by socat)
    --strength gale                              calm, breeze, strong or gale
    --format uv                                  polar, uv, nmea or tunnel
    --settings "U2 P3"                           further settings, as in configuration mode
    --seed 7                                     the same wind each time
    --noise 0.05                                 this share of its messages is damaged
    --trouble stall@30+9,blocked@60+5            from the 30th second on for 9 seconds: stall,
                                                 silence, cut, shifted, flipped, wrong-baud,
                                                 blocked, blocked-u or blocked-v

The port is the configuration's, or --path /dev/ttyUSB0 --baud 9600 --parity none. It is for one
program at a time: stop the server first. Only --configure and --mode polled write to it.
The flags of \`npm start\` hold too: --config, --sensor-path and so on.
`

/** Does what the words say. Throws ConfigError for flags and config, SensorFailure where it cannot be done. */
export async function sensor({ argv, env, cwd }: ConfigSources, surroundings: Surroundings): Promise<void> {
  const flags = readSensorFlags(argv)
  const { action, object, own, others } = flags
  if (action === null) return help.trimEnd().split('\n').forEach(surroundings.print)
  const commands = action === '--configure' ? readCommands(object) : []
  const config = await loadConfig({ argv: others, env, cwd })
  const { node, strength } = config.sensor
  if (action === '--list') await listPorts(surroundings)
  else if (action === '--simulate') await simulate(readSimulating(object, strength, own), surroundings)
  else if (action === '--listen') await listen(listening(flags, config), surroundings)
  else await configure({ port: portIn(config), node, commands }, surroundings)
}

function listening({ own }: SensorFlags, config: Config) {
  const { mode, node, rateHz } = config.sensor
  const given = own.get('--seconds') ?? '10'
  const forSeconds = /^\d+(\.\d+)?$/.test(given) ? Number(given) : 0
  if (forSeconds < 0.1 || forSeconds > 86_400) throw notAllowed('--seconds', given)
  return { port: portIn(config), polling: mode === 'polled' ? { node, rateHz } : null, forSeconds }
}

function portIn({ sensor: { path, baudRate, parity } }: Config): PortSettings {
  if (path !== null) return { path, baudRate, parity }
  throw new ConfigError(
    'No port is named; say which, such as --path /dev/ttyUSB0, or set sensor.path (--list shows the ports).',
  )
}

if (import.meta.main) {
  try {
    const cwd = join(import.meta.dirname, '..')
    await sensor(
      { argv: process.argv.slice(2), env: process.env, cwd },
      {
        print: (line) => process.stdout.write(`${line}\n`),
        timers: processTimers,
        random: Math.random,
        listPorts: SerialPort.list,
        createPort: createSerialPort,
        signal: endBySignal({ process, now: () => performance.now(), insist: () => process.exit(1) }),
      },
    )
  } catch (error) {
    const isExpected = error instanceof ConfigError || error instanceof SensorFailure
    console.error(isExpected ? error.message : error)
    process.exitCode = 1
  }
}
