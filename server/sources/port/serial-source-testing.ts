// A real sensor's line on a port that is none, for tests.

import assert from 'node:assert/strict'
import { createManualTime } from '../../wire/manual-time.ts'
import { createSeededRandom } from '../../wire/random.ts'
import type { SensorBody } from '../../wire/reading.ts'
import { checksum, type FrameReading } from '../frames/windsonic-frame.ts'
import { FakePort } from './fake-port.ts'
import type { Polling } from './polling.ts'
import { openSerialSource } from './serial-source.ts'

export const wire = (body: string) => `\x02${body}\x03${checksum(body)}\r\n`
export const frame = wire('Q,229,002.74,M,00,')

export function start(polling: Polling | null = null) {
  const time = createManualTime()
  const readings: Array<FrameReading & { readonly at: number }> = []
  const states: SensorBody[] = []
  const ports: FakePort[] = []
  const source = openSerialSource({
    path: '/dev/no-such-wind',
    baudRate: 9600,
    parity: 'none',
    polling,
    random: createSeededRandom(5),
    timers: time,
    onFrame: ({ reading, at }) => void readings.push({ ...reading, at }),
    onState: (body) => void states.push(body),
    createPort(settings) {
      const port = new FakePort(settings)
      ports.push(port)
      return port
    },
  })
  const port = () => ports.at(-1) ?? assert.fail('no port was made')
  return { source, time, readings, states, ports, port, names: () => states.map(({ state }) => state) }
}
