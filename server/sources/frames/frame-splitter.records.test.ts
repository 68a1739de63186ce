// Reads what real Gill sensors sent, where those records are at hand.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { createFrameSplitter } from './frame-splitter.ts'

const folder = resolve(import.meta.dirname, '../../../../shared/data/wind')
const polar = resolve(folder, 'sikuliaq-gill-polar-2018-12-06.txt')
const cutUv = resolve(folder, 'ncas-cape-verde-uv-2017-08-30.txt')
const absent = (path: string) => (existsSync(path) ? false : 'the real records are not on this machine')

/** What came over the wire: from STX on, the host's own line end replaced by the sensor's. */
function wireOf(path: string, ending: string): string[] {
  const lines = readFileSync(path, 'latin1').split('\n')
  return lines
    .filter((line) => line.includes('\x02'))
    .map((line) => line.slice(line.indexOf('\x02')).trimEnd() + ending)
}

test('all 1,000 frames of a ship are read, in order', { skip: absent(polar) }, () => {
  const frames = wireOf(polar, '\r\n')
  const splitter = createFrameSplitter()
  const splits = splitter.push(Buffer.from(frames.join(''), 'latin1'), 0)
  const raws = splits.map((split) => (split.kind === 'frame' ? split.reading.raw : split.code))
  assert.equal(raws.length, 1000)
  assert.deepEqual(
    raws,
    frames.map((frame) => frame.slice(1, -5)),
  )
  assert.equal(splitter.strayBytes, 0)
})

test('of UV frames cut before their checksum none is invented', { skip: absent(cutUv) }, () => {
  for (const ending of ['', '\r\n']) {
    const frames = wireOf(cutUv, ending)
    const splitter = createFrameSplitter()
    const splits = splitter.push(Buffer.from(`${frames.join('')}\x02`, 'latin1'), 0)
    assert.ok(frames.length > 250)
    assert.equal(splits.filter((split) => split.kind === 'frame').length, 0)
    assert.equal(splitter.refused.cut, frames.length)
  }
})
