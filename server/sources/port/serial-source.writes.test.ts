// Checks what is ever written to a sensor: nothing, unless it is polled.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../../wire/random.ts'
import { frame, start } from './serial-source-testing.ts'

/** Anything that a port and its sensor can do, in any order. */
function live(line: ReturnType<typeof start>, random: () => number): void {
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]
  const texts = [
    frame,
    frame.slice(0, 9),
    '\xfe\x82\x92',
    '\x00'.repeat(40),
    'CONFIGURATION MODE\r\n',
    '*?!Q',
  ]
  const port = line.port()
  if (port.opening) random() < 0.5 ? port.succeed() : port.fail('Error: Permission denied')
  else if (port.isOpen) random() < 0.03 ? port.unplug() : port.receive(pick(texts) ?? '')
  if (port.isOpen && random() < 0.01) port.emit('error', new Error('Input/output error'))
  line.time.advance(random() * 2000)
}

test('to a sensor that sends by itself nothing is ever written, whatever happens', async () => {
  const line = start()
  const random = createSeededRandom(2012)
  for (let i = 0; i < 5000; i++) live(line, random)
  await line.source.stop()
  assert.ok(line.ports.length > 50 && line.readings.length > 100, `${line.ports.length} ports`)
  assert.deepEqual(
    line.ports.flatMap(({ written }) => written),
    [],
  )
})

test('to a polled sensor ?, its letter and at the end ! are written, and nothing else', async () => {
  const line = start({ node: 'K', rateHz: 4 })
  const random = createSeededRandom(2012)
  for (let i = 0; i < 5000; i++) live(line, random)
  while (!line.port().isOpen) live(line, random)
  await line.source.stop()
  const written = line.ports.map((port) => port.written.join('')).filter((text) => text !== '')
  const last = written.pop()
  assert.ok(written.length > 30, `${written.length} openings`)
  for (const text of written) assert.match(text, /^\?[K?]*$/)
  assert.match(last ?? '', /^\?[K?]*!$/)
})
