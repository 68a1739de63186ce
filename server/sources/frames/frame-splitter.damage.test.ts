// Checks, for every place of a frame and every byte that can stand there, what a single damage costs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameSplitter } from './frame-splitter.ts'
import { outline, wireOf } from './testing.ts'

const bodies = ['Q,229,002.74,M,00,', 'Q,+001.59,-002.74,M,00,', 'IIMWV,284,R,001.26,K,A', 'Q,001.59,1,00,M,']
const [before, after] = ['Q,156,000.05,M,00,', 'WIMWV,120,R,002.10,M,00']
const endings = ['\r\n', '\r']

/** What comes out between two unhurt frames, which must both be read whatever stands between them. */
function between(hit: Uint8Array, ending: string, why: string): string[] {
  const wire = Buffer.concat([Buffer.from(wireOf(before, ending)), hit, Buffer.from(wireOf(after, ending))])
  const [first, ...rest] = outline(createFrameSplitter().push(wire, 0))
  assert.deepEqual([first, rest.pop()], [before, after], why)
  return rest
}

function everyPlace(each: (whole: Buffer, at: number, body: string, ending: string) => void): void {
  for (const body of bodies)
    for (const ending of endings) {
      const whole = Buffer.from(wireOf(body, ending), 'latin1')
      for (let at = 0; at < whole.length; at++) each(whole, at, body, ending)
    }
}

/** The frame itself arrives, or nothing does but refusals. */
function arrives(bytes: Uint8Array, body: string, ending: string, why: string): boolean {
  const frames = between(bytes, ending, why).filter((split) => split.includes(','))
  assert.ok(frames.length === 0 || (frames.length === 1 && frames[0] === body), `${why}: ${frames}`)
  return frames.length === 1
}

test('a wrong byte costs the frame it hit and no neighbour, the LF costs nothing, and nothing is invented', () => {
  everyPlace((whole, at, body, ending) => {
    for (let byte = 0; byte < 256; byte++) {
      const hit = Buffer.from(whole.with(at, byte))
      const isUnhurt = byte === whole[at] || whole[at] === 0x0a
      const why = `${body} with ${byte} at ${at}`
      assert.equal(arrives(hit, body, ending, why), isUnhurt, why)
    }
  })
})

test('a lost byte costs its frame alone, and a lost LF nothing', () => {
  everyPlace((whole, at, body, ending) => {
    const hit = Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1)])
    const why = `${body} without ${at}`
    assert.equal(arrives(hit, body, ending, why), whole[at] === 0x0a, why)
  })
})

test('a byte too many costs the frame it is in, unless it repeats its first mark or its CR', () => {
  everyPlace((whole, at, body, ending) => {
    for (let byte = 0; byte < 256; byte++) {
      const hit = Buffer.concat([whole.subarray(0, at), Uint8Array.of(byte), whole.subarray(at)])
      const isOutside = at === 0 || whole[at] === 0x0a
      const isTwice = (at === 1 && byte === whole[0]) || (byte === 0x0d && byte === whole[at])
      const why = `${body} with ${byte} before ${at}`
      assert.equal(arrives(hit, body, ending, why), isOutside || isTwice, why)
    }
  })
})

test('two stitched halves fail their sum; the few that agree in it are let through', () => {
  const [left, right] = [wireOf('Q,229,002.74,M,00,'), wireOf('Q,118,004.99,M,00,')]
  assert.deepEqual(between(Buffer.from(left.slice(0, 12) + right.slice(12)), '\r', 'stitched'), ['checksum'])
  const twin = wireOf('Q,292,002.15,M,00,')
  const agreeing = Buffer.from(left.slice(0, 6) + twin.slice(6))
  assert.deepEqual(between(agreeing, '\r', 'agreeing'), ['Q,229,002.15,M,00,'])
})
