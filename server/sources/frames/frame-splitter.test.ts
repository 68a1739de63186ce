// Checks that frames are found in any pieces, and that damage costs no more than the frames it touched.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameSplitter, type FrameSplitter, type Split } from './frame-splitter.ts'
import { checksum } from './windsonic-frame.ts'

const wire = (body: string, ending = '\r\n') => `\x02${body}\x03${checksum(body)}${ending}`
const first = wire('Q,229,002.74,M,00,')
const second = wire('Q,231,002.81,M,00,')
const banner = `

WINDSONIC (Gill Instruments Ltd)\r
2368-103\r
RS232 (CFG)\r
CHECKSUM ROM:4651 4651 *PASS*\r
CHECKSUM FAC:0A2B 0A2B *PASS*\r
CHECKSUM ENG:12B5 12B5 *PASS*\r
CHECKSUM CAL:CC55 CC55 *PASS*\r

`

function feed(
  text: string,
  pieceLength = text.length,
  splitter: FrameSplitter = createFrameSplitter(),
): Split[] {
  const bytes = Buffer.from(text, 'latin1')
  const splits: Split[] = []
  for (let i = 0; i < bytes.length; i += pieceLength)
    splits.push(...splitter.push(bytes.subarray(i, i + pieceLength), i))
  return splits
}

/** Bodies of the frames, and codes of the refusals, in order. */
function outline(splits: readonly Split[]): string[] {
  return splits.map((split) => (split.kind === 'frame' ? split.reading.raw : split.code))
}

const polar = [
  'Q,229,002.74,M,00,',
  'Q,156,000.05,M,00,',
  'Q,,000.04,M,00,',
  'Q,160,000.04,M,00,',
  'Q,,000.03,M,00,',
  'Q,,,M,04,',
  'Q,999,999.99,M,04,',
  'Q,316,009.52,N,00,',
  'Q,078,007.10,K,00,',
  'A,356,006.94,M,60,',
]

test('all polar vectors come out of every chunking, with CR LF and with CR alone', () => {
  for (const ending of ['\r\n', '\r']) {
    const text = polar.map((body) => wire(body, ending)).join('')
    for (let length = 1; length <= text.length; length++) assert.deepEqual(outline(feed(text, length)), polar)
  }
})

test('a frame bears the stamp of the chunk that held its first byte', () => {
  const splitter = createFrameSplitter()
  const bytes = Buffer.from(first + second, 'latin1')
  assert.deepEqual(splitter.push(bytes.subarray(0, 5), 100.25), [])
  const [whole] = splitter.push(bytes.subarray(5, 24), 130)
  const [next] = splitter.push(bytes.subarray(24), 380.5)
  assert.deepEqual([whole?.kind, whole?.at], ['frame', 100.25])
  assert.deepEqual([next?.kind, next?.at], ['frame', 380.5])
})

test('identical frames are all passed on', () => {
  assert.equal(feed(first.repeat(812)).filter((split) => split.kind === 'frame').length, 812)
})

test('other formats are refused as such, and none is invented', () => {
  const splitter = createFrameSplitter()
  const text = [
    wire('Q,+001.59,-002.74,M,00,'),
    wire('Q,001.59,1,00,M,'),
    '$IIMWV,284,R,001.26,K,A*1D\r\n',
    first,
  ].join('')
  assert.deepEqual(outline(feed(text, 7, splitter)), ['layout', 'layout', 'Q,229,002.74,M,00,'])
  assert.equal(splitter.refused.layout, 2)
  assert.equal(splitter.strayBytes, 26)
})

test('a read that starts in the middle loses that frame alone', () => {
  for (let start = 1; start < first.length; start++) {
    assert.deepEqual(outline(feed(first.slice(start) + second)), ['Q,231,002.81,M,00,'], `from byte ${start}`)
  }
})

test('a frame cut anywhere is refused once, and the next is read', () => {
  for (let end = 1; end < 23; end++) {
    const splitter = createFrameSplitter()
    const [, next, ...more] = outline(feed(first.slice(0, end) + second, 3, splitter))
    assert.deepEqual([next, more, splitter.refused.cut], ['Q,231,002.81,M,00,', [], 1], `cut after ${end}`)
  }
})

test('a line end inside a frame ends it at once', () => {
  assert.deepEqual(outline(feed('\x02Q,229,00\r\n')), ['cut'])
  assert.deepEqual(outline(feed('\x02Q,229,002.74,M,00,\x03\r\n')), ['cut'])
  assert.deepEqual(outline(feed('\x02Q,229,002.74,M,00,\x031\r\n')), ['cut'])
})

test('no CR behind the checksum is refused, and so is a third digit', () => {
  assert.deepEqual(outline(feed(`\x02Q,229,002.74,M,00,\x0316\n${second}`)), ['ending', 'Q,231,002.81,M,00,'])
  assert.deepEqual(outline(feed(`\x02Q,229,002.74,M,00,\x03160\r\n${second}`)), [
    'ending',
    'Q,231,002.81,M,00,',
  ])
})

test('ETX or a status digit that is hit costs one frame', () => {
  assert.deepEqual(outline(feed(first.replace('\x03', '\x13') + second)), ['cut', 'Q,231,002.81,M,00,'])
  assert.deepEqual(outline(feed(first.replace(',00,', ',08,') + second)), ['checksum', 'Q,231,002.81,M,00,'])
})

test('garbage between and before frames is passed over', () => {
  const garbage = '\xfe\x82\x92\xff\x8a'.repeat(50)
  const splitter = createFrameSplitter()
  const bodies = outline(feed(garbage + first + garbage + second, 11, splitter))
  assert.deepEqual(bodies, ['Q,229,002.74,M,00,', 'Q,231,002.81,M,00,'])
  assert.equal(splitter.strayBytes, 500)
})

test('garbage inside a frame is given up before it fills memory', () => {
  const splitter = createFrameSplitter()
  const bodies = outline(feed(`\x02${'\x8a'.repeat(100_000)}${first}`, 1000, splitter))
  assert.deepEqual(bodies, ['too-long', 'Q,229,002.74,M,00,'])
  assert.equal(splitter.refused['too-long'], 1)
})

test('the power-up banner is no frame and costs none', () => {
  assert.deepEqual(outline(feed(banner + first, 5)), ['Q,229,002.74,M,00,'])
  assert.deepEqual(outline(feed(first.slice(0, 9) + banner + first, 5)), ['cut', 'Q,229,002.74,M,00,'])
})

test('two stitched halves fail their sum; the few that do not are let through', () => {
  assert.deepEqual(outline(feed(first.slice(0, 12) + wire('Q,118,004.99,M,00,').slice(12))), ['checksum'])
  const twin = wire('Q,292,002.74,M,00,')
  assert.deepEqual(outline(feed(first.slice(0, 3) + twin.slice(3, 6) + first.slice(6))), [
    'Q,292,002.74,M,00,',
  ])
})

test('digits that changed places are refused where a range says so', () => {
  const swapped = wire('Q,359,002.74,M,00,').replace('359', '539')
  assert.deepEqual(outline(feed(swapped + second)), ['range', 'Q,231,002.81,M,00,'])
})

test('clearing forgets the frame begun, so that two openings are never stitched', () => {
  const splitter = createFrameSplitter()
  feed(first.slice(0, 12), 12, splitter)
  splitter.clear()
  assert.deepEqual(outline(feed(first.slice(12) + second, 40, splitter)), ['Q,231,002.81,M,00,'])
})
