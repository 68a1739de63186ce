// Checks that the frames bench counts and divides rightly, with a clock that it is told.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frames } from './frames.ts'
import { readFramesOptions } from './frames-options.ts'
import { framesText } from './frames-text.ts'

const silent = { say: () => undefined, clear: () => undefined }

/** Each turn, of two looks at the clock, takes one millisecond longer than the last. */
function slowingClock() {
  let looks = 0
  let ms = 0
  return () => {
    looks += 1
    if (looks % 2 === 0) ms += looks / 2
    return ms
  }
}

test('each format takes its turns clean and damaged, and a clean one loses nothing', () => {
  const options = readFramesOptions(['--frames', '200', '--rounds', '3', '--damage', '2'])
  const rows = frames(options, silent)
  assert.deepEqual(
    rows.map(({ format, damagePercent }) => `${format} ${damagePercent}`),
    ['polar 0', 'polar 2', 'uv 0', 'uv 2', 'nmea 0', 'nmea 2', 'tunnel 0', 'tunnel 2'],
  )
  for (const { damagePercent, sent, read } of rows) {
    assert.equal(sent, 200)
    if (damagePercent === 0) assert.equal(read, 200)
    else assert.ok(read < 170 && read > 50, `${read} of 200 survive 2 % of damage`)
  }
})

test('the same seed gives the same streams', () => {
  const options = readFramesOptions(['--frames', '100', '--rounds', '1'])
  const read = () => frames(options, silent).map((row) => row.read)
  assert.deepEqual(read(), read())
})

test('a figure is the median turn, divided by its frames', () => {
  const options = readFramesOptions(['--frames', '100', '--rounds', '3', '--damage', '0'])
  const [polar] = frames(options, silent, slowingClock())
  // Of 4 subjects, after 12 turns to warm up, it comes first in the first round: the 13th turn takes 13 ms.
  assert.equal(polar?.microsMin, 130)
  assert.ok(polar && polar.microsPerFrame > polar.microsMin && polar.microsPerFrame < polar.microsMax)
})

test('the text names the slowest', () => {
  const common = { damagePercent: 0, sent: 10, read: 10, microsMin: 0.5, microsMax: 9 }
  const text = framesText([
    { ...common, format: 'polar', microsPerFrame: 0.5 },
    { ...common, format: 'uv', damagePercent: 1, microsPerFrame: 1.25 },
  ])
  assert.match(text, /uv +1 % +10 +10 +1\.25 +0\.50 +9\.00/)
  assert.match(text, /The slowest takes 1\.25 µs a frame; 3 are allowed\./)
})

test('what cannot be is refused by name', () => {
  assert.throws(() => readFramesOptions(['--frames', '0']), /--frames is "0"/)
  assert.throws(() => readFramesOptions(['--damage', '101']), /--damage is "101"/)
})
