// Checks the table of ports.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listPorts } from './list.ts'
import type { ListedPort } from './surroundings.ts'
import { setStage } from './testing.ts'

async function list(ports: readonly ListedPort[] | Error): Promise<string[]> {
  const { surroundings, printed } = setStage(() => '', { ports })
  await listPorts(surroundings)
  return printed
}

test('converters come first, with who made them, and how to read the first is said', async () => {
  const printed = await list([
    { path: '/dev/ttyS10' },
    { path: '/dev/ttyS2', manufacturer: undefined },
    { path: '/dev/ttyUSB0', manufacturer: 'FTDI', serialNumber: 'A10K5XYZ' },
  ])
  assert.deepEqual(printed, [
    '',
    '  path           maker   serial number',
    '  /dev/ttyUSB0   FTDI    A10K5XYZ',
    '  /dev/ttyS2     –       –',
    '  /dev/ttyS10    –       –',
    '',
    '  See what comes from one:     npm run sensor -- --listen --path /dev/ttyUSB0',
    '  Show it in every window:     npm start -- --sensor-source serial --sensor-path /dev/ttyUSB0',
    '',
  ])
})

test('no port is a sentence, and a list that cannot be made is a failure', async () => {
  assert.match((await list([])).join('\n'), /There is no serial port\. Plug the converter in/)
  await assert.rejects(list(new Error('spawn udevadm ENOENT')), {
    name: 'SensorFailure',
    message: /cannot be listed \(spawn udevadm ENOENT\); name yours by --path/,
  })
})
