// Replays what real Gill sensors sent, where those records are at hand.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { createFrameSplitter, type Split } from '../frames/frame-splitter.ts'
import { readLogFile } from './log-file.ts'
import { recordsOf } from './records.ts'

const folder = resolve(import.meta.dirname, '../../../../shared/data/wind')
const polar = resolve(folder, 'sikuliaq-gill-polar-2018-12-06.txt')
const cutUv = resolve(folder, 'ncas-cape-verde-uv-2017-08-30.txt')
const absent = (path: string) => (existsSync(path) ? false : 'the real records are not on this machine')

/** Everything that a log says, and the seconds that it takes. */
async function hear(path: string) {
  const splitter = createFrameSplitter()
  const splits: Split[] = []
  let seconds = 0
  let bad = 0
  for await (const record of recordsOf(readLogFile(path), 4)) {
    if (record.kind === 'bad') bad += 1
    else {
      seconds += record.gapMs / 1000
      splits.push(...splitter.push(record.bytes, 0))
    }
  }
  return { frames: splits.filter(({ kind }) => kind === 'frame').length, splits, seconds, bad }
}

test('all 1,000 frames of a ship are replayed, over their 16 minutes', { skip: absent(polar) }, async () => {
  const { frames, seconds, bad } = await hear(polar)
  assert.deepEqual([frames, bad], [1000, 0])
  assert.ok(Math.abs(seconds - 999.064) < 0.01, `${seconds} s`)
})

test('of UV frames cut before their checksum none is invented', { skip: absent(cutUv) }, async () => {
  const { frames, splits, seconds, bad } = await hear(cutUv)
  assert.equal(frames, 0)
  assert.equal(bad, 1, 'one read held a line end, so that its second half has no time of its own')
  assert.ok(splits.length > 250)
  assert.ok(seconds > 300)
})
