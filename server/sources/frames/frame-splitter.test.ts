// Checks that frames are found in any pieces, and that damage costs no more than the frames it touched.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameSplitter } from './frame-splitter.ts'
import { feed, outline, vectors, wireOf } from './testing.ts'

const polar = 'Q,229,002.74,M,00,'
const uv = 'Q,+001.59,-002.74,M,00,'
const nmea = 'IIMWV,284,R,001.26,K,A'
const tunnel = 'Q,001.59,1,00,M,'
const next = 'Q,231,002.81,M,00,'
const first = wireOf(polar)
const second = wireOf(next)

test('all vectors come out of every chunking, with CR LF and with CR alone', () => {
  const bodies = vectors.map(({ body }) => body)
  for (const ending of ['\r\n', '\r']) {
    const text = bodies.map((body) => wireOf(body, ending)).join('')
    for (let length = 1; length <= text.length; length++) {
      const splitter = createFrameSplitter()
      assert.deepEqual(outline(feed(text, length, splitter)), bodies, `in pieces of ${length}`)
      assert.equal(splitter.strayBytes, 0)
    }
  }
})

test('cut in two at any byte, a stream says the same', () => {
  const text = `\xfe$II${first}${wireOf(uv)}${wireOf(nmea, '\r')}Q,22${first.slice(0, 9)}${wireOf(tunnel)}`
  const bytes = Buffer.from(text, 'latin1')
  const whole = createFrameSplitter()
  const expected = outline(whole.push(bytes, 0))
  assert.deepEqual(expected, [polar, uv, nmea, 'cut', tunnel])
  for (let at = 0; at <= bytes.length; at++) {
    const splitter = createFrameSplitter()
    const splits = [...splitter.push(bytes.subarray(0, at), 0), ...splitter.push(bytes.subarray(at), 1)]
    assert.deepEqual(outline(splits), expected, `cut at ${at}`)
    assert.deepEqual([splitter.refused, splitter.strayBytes], [whole.refused, whole.strayBytes])
  }
})

test('a frame is told with its CR, and the LF behind it is nothing', () => {
  const splitter = createFrameSplitter()
  assert.deepEqual(outline(feed(first.slice(0, -1), 100, splitter)), [polar])
  assert.deepEqual(feed('\n', 1, splitter), [])
  assert.deepEqual(outline(feed(wireOf(nmea, '\r'), 100, splitter)), [nmea])
  assert.equal(splitter.strayBytes, 0)
})

test('a frame bears the stamp of the chunk that held its first byte', () => {
  const splitter = createFrameSplitter()
  const bytes = Buffer.from(first + wireOf(nmea), 'latin1')
  assert.deepEqual(splitter.push(bytes.subarray(0, 5), 100.25), [])
  const [whole] = splitter.push(bytes.subarray(5, 25), 130)
  assert.deepEqual([whole?.kind, whole?.at], ['frame', 100.25])
  const [late] = splitter.push(bytes.subarray(25), 380.5)
  assert.deepEqual([late?.kind, late?.at], ['frame', 130])
})

test('identical frames are all passed on', () => {
  assert.equal(feed(first.repeat(812)).filter((split) => split.kind === 'frame').length, 812)
})

test('a read that starts in the middle loses that frame alone', () => {
  for (const body of [polar, uv, nmea, tunnel]) {
    const wire = wireOf(body)
    for (let start = 1; start < wire.length; start++)
      assert.deepEqual(outline(feed(wire.slice(start) + second)), [next], `${body} from byte ${start}`)
  }
})

test('a frame cut anywhere is refused once, and the next is read, whichever formats they are', () => {
  for (const body of [polar, uv, nmea, tunnel]) {
    for (const after of [polar, uv, nmea, tunnel]) {
      const wire = wireOf(body)
      for (let end = body === nmea ? 7 : 1; end < wire.length - 1; end++) {
        const splits = outline(feed(wire.slice(0, end) + wireOf(after), 3))
        assert.deepEqual(splits, ['cut', after], `${body} cut after ${end}`)
      }
    }
  }
})

test('a line end inside a frame ends it at once', () => {
  assert.deepEqual(outline(feed('\x02Q,229,00\r\n')), ['cut'])
  assert.deepEqual(outline(feed('\x02Q,229,002.74,M,00,\x03\r\n')), ['cut'])
  assert.deepEqual(outline(feed('\x02Q,229,002.74,M,00,\x031\r\n')), ['cut'])
  assert.deepEqual(outline(feed('$IIMWV,284,R,001.26,K,A*1\r\n')), ['cut'])
})

test('no CR behind the sum is refused, and so is a third digit', () => {
  assert.deepEqual(outline(feed(`\x02${polar}\x0316\n${second}`)), ['ending', next])
  assert.deepEqual(outline(feed(`\x02${polar}\x03160\r\n${second}`)), ['ending', next])
  assert.deepEqual(outline(feed(`$${nmea}*1D\n${second}`)), ['ending', next])
})

test('each refusal is counted under its code', () => {
  const splitter = createFrameSplitter()
  const text = [
    wireOf(polar, '\r\n', '17'),
    wireOf('Q,29,002.74,M,00,'),
    wireOf('Q,360,002.74,M,00,'),
    first.slice(0, 9),
    `\x02${'0'.repeat(40)}`,
    `\x02${polar}\x0316\n`,
  ]
  const codes = ['checksum', 'layout', 'range', 'cut', 'too-long', 'ending']
  assert.deepEqual(outline(feed(text.join(''), 7, splitter)), codes)
  assert.deepEqual(
    Object.entries(splitter.refused),
    codes.map((code) => [code, 1]),
  )
})

test('clearing forgets the frame begun, so that two openings are never stitched', () => {
  for (const wire of [first, wireOf(nmea)]) {
    const splitter = createFrameSplitter()
    feed(wire.slice(0, 12), 12, splitter)
    splitter.clear()
    assert.deepEqual(outline(feed(wire.slice(12) + second, 40, splitter)), [next])
    assert.equal(splitter.refused.cut, 0)
  }
})
