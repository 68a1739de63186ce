// Checks that the configuration's words reach the sensor that they mean.

import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { type Config, defaultConfig } from '../config/config.ts'
import { sensorIn } from './sensor.ts'

const read = (sensor: Partial<Config['sensor']>) =>
  sensorIn({ sensor: { ...defaultConfig.sensor, ...sensor } }, '/srv/crosswind')

test('the default is a breeze, 4 readings a second', () => {
  assert.deepEqual(read({}), { source: 'simulated', rateHz: 4, strength: 'breeze' })
})

test('a serial sensor is polled only where the configuration says so', () => {
  const serial = { source: 'serial', path: '/dev/ttyUSB0', baudRate: 38_400, parity: 'even' } as const
  assert.deepEqual(read(serial), { ...serial, polling: null })
  const polling = { node: 'B', rateHz: 2 }
  assert.deepEqual(read({ ...serial, ...polling, mode: 'polled' }), { ...serial, polling })
})

test('a log’s path is taken from the root', () => {
  const recorded = { source: 'recorded', file: resolve('/srv/crosswind', 'wind.log'), pace: 10, rateHz: 4 }
  assert.deepEqual(read({ source: 'recorded', file: 'wind.log', pace: 10 }), recorded)
  assert.deepEqual(read({ source: 'none' }), { source: 'none' })
})
