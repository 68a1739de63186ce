// Checks the counts and divisions of the frames bench, on a fake clock.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readOptions } from '../lab/experiment.ts'
import { frames, measureFrames } from './frames-bench.ts'

const run = (flags: string, now?: () => number) =>
  measureFrames(
    readOptions(frames, flags.split(' ')).options,
    () => undefined,
    new AbortController().signal,
    now,
  )

/** Each turn, between two clock readings, takes one millisecond longer than the last. */
function slowingClock() {
  let looks = 0
  let ms = 0
  return () => {
    looks += 1
    if (looks % 2 === 0) ms += looks / 2
    return ms
  }
}

test('each format has clean and damaged turns, and a clean one loses nothing', async () => {
  const rows = await run('--frames 200 --rounds 3 --damage 2')
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

test('the same seed gives the same streams', async () => {
  const read = async () => (await run('--frames 100 --rounds 1')).map((row) => row.read)
  assert.deepEqual(await read(), await read())
})

test('a figure is the median turn divided by its frames', async () => {
  const [polar] = await run('--frames 100 --rounds 3 --damage 0', slowingClock())
  assert.ok(polar)
  // One of 4 subjects, first in the first round after 12 warm-up turns: the 13th turn takes 13 ms.
  const { microsMin, microsPerFrame, microsMax } = polar
  assert.equal(microsMin, 130)
  assert.ok(Number(microsPerFrame) > 130 && Number(microsPerFrame) < Number(microsMax))
})

test('impossible options are refused by name', () => {
  assert.throws(() => readOptions(frames, ['--damage', '101']), /--damage is "101"/)
})
