// Frames are found in chunks of any size, and damage costs no more than the frames it touched.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, type Random } from '../protocol/time.ts'
import { createFrameSplitter, type Split } from './frame-splitter.ts'
import { below, drawFrames, oneOf, vectors, wireOf } from './testing.ts'

/** Each chunk is stamped with the position of its first byte. */
function feed(text: string, pieceLength = text.length, splitter = createFrameSplitter()): Split[] {
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

const polar = 'Q,229,002.74,M,00,'
const uv = 'Q,+001.59,-002.74,M,00,'
const nmea = 'IIMWV,284,R,001.26,K,A'
const tunnel = 'Q,001.59,1,00,M,'
const next = 'Q,231,002.81,M,00,'
const first = wireOf(polar)
const second = wireOf(next)

test('all vectors are read from every chunking, with CR LF and with CR alone', () => {
  const bodies = vectors.map(({ body }) => body)
  for (const ending of ['\r\n', '\r']) {
    const text = bodies.map((body) => wireOf(body, ending)).join('')
    for (let length = 1; length <= text.length; length++) {
      const splitter = createFrameSplitter()
      assert.deepEqual(outline(feed(text, length, splitter)), bodies, `in pieces of ${length}`)
    }
  }
})

test('a stream split in two at any byte reads the same', () => {
  const text = `\xfe$II${first}${wireOf(uv)}${wireOf(nmea, '\r')}Q,22${first.slice(0, 9)}${wireOf(tunnel)}`
  const bytes = Buffer.from(text, 'latin1')
  const whole = createFrameSplitter()
  const expected = outline(whole.push(bytes, 0))
  assert.deepEqual(expected, [polar, uv, nmea, 'cut', tunnel])
  for (let at = 0; at <= bytes.length; at++) {
    const splitter = createFrameSplitter()
    const splits = [...splitter.push(bytes.subarray(0, at), 0), ...splitter.push(bytes.subarray(at), 1)]
    assert.deepEqual(outline(splits), expected, `cut at ${at}`)
    assert.deepEqual(splitter.refused, whole.refused)
  }
})

test('a frame is reported at its CR, and the LF after it is ignored', () => {
  const splitter = createFrameSplitter()
  assert.deepEqual(outline(feed(first.slice(0, -1), 100, splitter)), [polar])
  assert.deepEqual(feed('\n', 1, splitter), [])
  assert.deepEqual(outline(feed(wireOf(nmea, '\r'), 100, splitter)), [nmea])
})

test('a frame has the timestamp of the chunk that contained its first byte', () => {
  const splitter = createFrameSplitter()
  const bytes = Buffer.from(first + wireOf(nmea), 'latin1')
  assert.deepEqual(splitter.push(bytes.subarray(0, 5), 100.25), [])
  const [whole] = splitter.push(bytes.subarray(5, 25), 130)
  assert.deepEqual([whole?.kind, whole?.at], ['frame', 100.25])
  const [late] = splitter.push(bytes.subarray(25), 380.5)
  assert.deepEqual([late?.kind, late?.at], ['frame', 130])
})

test('a read that starts in the middle loses only that frame', () => {
  for (const body of [polar, uv, nmea, tunnel]) {
    const wire = wireOf(body)
    for (let start = 1; start < wire.length; start++)
      assert.deepEqual(outline(feed(wire.slice(start) + second)), [next], `${body} from byte ${start}`)
  }
})

test('a frame cut anywhere is refused once, and the next is read, in any formats', () => {
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

test('LF alone ends a frame like CR, in any chunks', () => {
  const bodies = vectors.map(({ body }) => body)
  const text = bodies.map((body) => wireOf(body, '\n')).join('')
  for (let length = 1; length <= 60; length++)
    assert.deepEqual(outline(feed(text, length)), bodies, `in pieces of ${length}`)
})

test('a checksum in lower case is accepted', () => {
  // Characters of a body are below 0x80, so the first digit of its checksum is never a letter.
  const heated = 'Q,229,002.15,F,60,'
  for (const ending of ['\r\n', '\r', '\n']) {
    assert.deepEqual(outline(feed(wireOf(nmea, ending, '1d'))), [nmea])
    assert.deepEqual(outline(feed(wireOf(heated, ending, '1c'))), [heated])
    assert.deepEqual(outline(feed(wireOf(heated, ending, '1g'))), ['checksum'])
  }
})

test('a frame without CR or LF after the checksum is refused, and so is a third digit', () => {
  assert.deepEqual(outline(feed(`\x02${polar}\x0316 \n${second}`)), ['ending', next])
  assert.deepEqual(outline(feed(`\x02${polar}\x03160\r\n${second}`)), ['ending', next])
  assert.deepEqual(outline(feed(`$${nmea}*1D;\n${second}`)), ['ending', next])
})

test('intact frames of other Gill instruments count as another format, not as damage', () => {
  // WindObserver II, WindMaster and MaxiMet, from their manuals; their checksums follow the rule.
  for (const body of [
    'A,121,000.08,M,+344.66,+021.76,00,',
    'Q,090,000.02,+000.01,M,+344.06,+021.55,00,+1.1111,+2.2222,+3.3333,+4.4444,+23.13C,',
    `Q,014,000.05,${'0001.1,'.repeat(30)}0000,`,
  ]) {
    assert.deepEqual(outline(feed(wireOf(body) + second)), ['layout', next])
    assert.deepEqual(outline(feed(wireOf(body, '\r\n', '00') + second)), ['checksum', next])
  }
})

test('each refusal is counted under its code', () => {
  const splitter = createFrameSplitter()
  const text = [
    wireOf(polar, '\r\n', '17'),
    wireOf('Q,29,002.74,M,00,'),
    wireOf('Q,360,002.74,M,00,'),
    first.slice(0, 9),
    `\x02${'0'.repeat(450)}`,
    `\x02${polar}\x0316 `,
  ]
  const codes = ['checksum', 'layout', 'range', 'cut', 'too-long', 'ending']
  assert.deepEqual(outline(feed(text.join(''), 7, splitter)), codes)
  assert.deepEqual(
    Object.entries(splitter.refused),
    codes.map((code) => [code, 1]),
  )
})

test('clearing discards the partial frame, so that two openings are never stitched together', () => {
  for (const wire of [first, wireOf(nmea)]) {
    const splitter = createFrameSplitter()
    feed(wire.slice(0, 12), 12, splitter)
    splitter.clear()
    assert.deepEqual(outline(feed(wire.slice(12) + second, 40, splitter)), [next])
    assert.equal(splitter.refused.cut, 0)
  }
})

const noRefusal = { checksum: 0, layout: 0, range: 0, cut: 0, 'too-long': 0, ending: 0 }
const banner = [
  '',
  '',
  'WINDSONIC (Gill Instruments Ltd)',
  '2368-103',
  'RS232 (CFG)',
  'CHECKSUM ROM:4651 4651 *PASS*',
  'CHECKSUM FAC:0A2B 0A2B *PASS*',
  'CHECKSUM ENG:12B5 12B5 *PASS*',
  'CHECKSUM CAL:CC55 CC55 *PASS*',
  '',
  '',
].join('\r\n')
const answers = 'CONFIGURATION MODE\r\nD3\r\nM2,U1,O1,L1,P1,B3,H1,NQ,F1,E3,T1,S4,C2,G0,K50,\r\nQ\r\n'

test('banners and answers are not refusals, and cost no frame', () => {
  for (const talk of [banner, answers]) {
    const splitter = createFrameSplitter()
    assert.deepEqual(outline(feed(wireOf(polar) + talk + wireOf(nmea) + talk, 5, splitter)), [polar, nmea])
    assert.deepEqual(splitter.refused, noRefusal)
  }
})

test('a banner in the middle of a frame costs that frame', () => {
  assert.deepEqual(outline(feed(wireOf(polar).slice(0, 9) + banner + wireOf(polar), 5)), ['cut', polar])
})

test('bursts of shifted bytes between frames are skipped', () => {
  const garbage = '\xfe\x82\x92\xff\x8a'.repeat(50)
  const splitter = createFrameSplitter()
  const text = garbage + wireOf(polar) + garbage + wireOf(nmea) + garbage
  assert.deepEqual(outline(feed(text, 11, splitter)), [polar, nmea])
  assert.deepEqual(splitter.refused, noRefusal)
})

test('a burst inside a frame costs that frame, wherever it is', () => {
  for (const body of [polar, nmea]) {
    for (let at = 1; at < wireOf(body).length - 2; at++) {
      const hit = `${wireOf(body).slice(0, at)}\xfe\x82\x92\xff\x8a${wireOf(body).slice(at + 5)}`
      const splits = feed(hit + wireOf(polar), 4)
      assert.deepEqual(splits.filter(({ kind }) => kind === 'frame').length, 1, `burst at ${at}`)
      assert.equal(outline(splits).at(-1), polar)
    }
  }
})

test('a $ in garbage is not a refusal, and the frame after it is read', () => {
  for (const start of ['$', '$$', '$I', '$IIMWV', '$IIM$', '$GPRMC,1234*55\r\n', 'x$\r\n']) {
    for (const body of [polar, nmea]) {
      const splitter = createFrameSplitter()
      assert.deepEqual(outline(feed(start + wireOf(body), 2, splitter)), [body], start)
      assert.deepEqual(splitter.refused, noRefusal)
    }
  }
})

test('a frame in the middle of one of the other kind costs only that one', () => {
  for (const [outer, inner] of [
    [polar, nmea],
    [nmea, polar],
    [polar, polar],
    [nmea, nmea],
  ] as const) {
    const wire = wireOf(outer)
    for (let at = 8; at < wire.length - 1; at++) {
      const splits = outline(feed(wire.slice(0, at) + wireOf(inner) + wire.slice(at) + wireOf(outer), 6))
      assert.deepEqual(splits, ['cut', inner, outer], `${inner} in ${outer} at ${at}`)
    }
  }
})

test('a $ or an STX inside a frame costs only that frame', () => {
  for (const body of [polar, nmea]) {
    for (const mark of ['$', '\x02']) {
      for (let at = 1; at < wireOf(body).length - 1; at++) {
        const hit = wireOf(body).slice(0, at) + mark + wireOf(body).slice(at + 1)
        const splits = outline(feed(hit + wireOf(nmea) + wireOf(polar), 9))
        assert.deepEqual(splits.slice(-2), [nmea, polar])
        assert.ok(!splits.slice(0, -2).some((split) => split.includes(',')), `${mark} at ${at}`)
      }
    }
  }
})

test('700 bytes and a megabyte without a frame leave only counts behind', () => {
  for (const length of [700, 1_000_000]) {
    for (const start of ['', '\x02', '\x02Q,229,', '$IIMWV,', `\x02${polar}\x03`]) {
      const splitter = createFrameSplitter()
      const splits = feed(`${start}${'7'.repeat(length)}`, 4096, splitter)
      assert.ok(splits.length <= 1)
      assert.deepEqual(outline(feed(wireOf(polar), 3, splitter)), [polar])
    }
  }
})

test('a megabyte of start marks is refused one by one and not stored', () => {
  const splitter = createFrameSplitter()
  for (let i = 0; i < 1000; i++) splitter.push(Buffer.from('\x02$'.repeat(500)), i)
  assert.equal(splitter.refused.cut, 500_000)
  assert.deepEqual(outline(feed(wireOf(polar), 3, splitter)), [polar])
})

const bodies = [polar, uv, nmea, tunnel]
const before = 'Q,156,000.05,M,00,'
const after = 'WIMWV,120,R,002.10,M,00'
const endings = ['\r\n', '\r', '\n']
const isLineEnd = (byte: number | undefined) => byte === 0x0d || byte === 0x0a

/** Returns what is read between two undamaged frames, both of which must be read in any case. */
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

/** Whether the frame itself is read; otherwise nothing but refusals may be. */
function arrives(bytes: Uint8Array, body: string, ending: string, why: string): boolean {
  const frames = between(bytes, ending, why).filter((split) => split.includes(','))
  assert.ok(frames.length === 0 || (frames.length === 1 && frames[0] === body), `${why}: ${frames}`)
  return frames.length === 1
}

test('a wrong byte costs only its own frame, except in line ends and the case of a checksum; nothing is invented', () => {
  everyPlace((whole, at, body, ending) => {
    const isSpare = ending === '\r\n' && at === whole.length - 1
    const isSum = at >= whole.length - ending.length - 2 && !isLineEnd(whole[at])
    for (let byte = 0; byte < 256; byte++) {
      const hit = Buffer.from(whole.with(at, byte))
      const isOtherEnd = isLineEnd(whole[at]) && isLineEnd(byte)
      const isOtherCase = isSum && (whole[at] ?? 0) >= 0x41 && byte === (whole[at] ?? 0) + 0x20
      const isUnhurt = byte === whole[at] || isSpare || isOtherEnd || isOtherCase
      const why = `${body} with ${byte} at ${at}`
      assert.equal(arrives(hit, body, ending, why), isUnhurt, why)
    }
  })
})

test('a lost byte costs only its frame, and one of CR and LF costs nothing', () => {
  everyPlace((whole, at, body, ending) => {
    const hit = Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1)])
    const why = `${body} without ${at}`
    assert.equal(arrives(hit, body, ending, why), ending === '\r\n' && isLineEnd(whole[at]), why)
  })
})

test('an extra byte costs its frame, unless it repeats the frame’s first mark or its line end', () => {
  everyPlace((whole, at, body, ending) => {
    for (let byte = 0; byte < 256; byte++) {
      const hit = Buffer.concat([whole.subarray(0, at), Uint8Array.of(byte), whole.subarray(at)])
      const isOutside = at === 0 || (ending === '\r\n' && at === whole.length - 1)
      const isTwice = (at === 1 && byte === whole[0]) || (isLineEnd(byte) && isLineEnd(whole[at]))
      const why = `${body} with ${byte} before ${at}`
      assert.equal(arrives(hit, body, ending, why), isOutside || isTwice, why)
    }
  })
})

test('two stitched halves fail their checksum; the few that match are accepted', () => {
  const left = wireOf('Q,229,002.74,M,00,')
  const right = wireOf('Q,118,004.99,M,00,')
  assert.deepEqual(between(Buffer.from(left.slice(0, 12) + right.slice(12)), '\r', 'stitched'), ['checksum'])
  const twin = wireOf('Q,292,002.15,M,00,')
  const agreeing = Buffer.from(left.slice(0, 6) + twin.slice(6))
  assert.deepEqual(between(agreeing, '\r', 'agreeing'), ['Q,229,002.15,M,00,'])
})

/** Bytes that arrive instead of a frame, and how many were changed, lost, added or moved. */
interface Damaged {
  readonly bytes: readonly number[]
  readonly hurt: number
}

type Bytes = readonly number[]
/** Damages a frame; a stitched one continues with the `next` frame of the same sensor. */
type Damage = (frame: Bytes, random: Random, next: Bytes) => Damaged

const noise = (random: Random, length: number) => Array.from({ length }, () => below(256, random))
const from2to12 = (random: Random) => 2 + below(11, random)
const at = (bytes: Bytes, index: number) => bytes[index] ?? 0

const damages = {
  oneBit: (frame, random) => ({ bytes: flipped(frame, below(frame.length, random), random), hurt: 1 }),
  twoBits(frame, random) {
    const first = below(frame.length, random)
    const second = (first + 1 + below(frame.length - 1, random)) % frame.length
    return { bytes: flipped(flipped(frame, first, random), second, random), hurt: 2 }
  },
  wrongByte: (frame, random) => ({
    bytes: frame.with(below(frame.length, random), below(256, random)),
    hurt: 1,
  }),
  burst(frame, random) {
    const length = from2to12(random)
    const start = below(frame.length - length, random)
    return { bytes: frame.toSpliced(start, length, ...noise(random, length)), hurt: length }
  },
  lost(frame, random) {
    const length = 1 + below(12, random)
    return { bytes: frame.toSpliced(below(frame.length - length, random), length), hurt: length }
  },
  added(frame, random) {
    const length = 1 + below(12, random)
    return { bytes: frame.toSpliced(below(frame.length, random), 0, ...noise(random, length)), hurt: length }
  },
  doubled(frame, random) {
    const index = below(frame.length, random)
    return { bytes: frame.toSpliced(index, 0, at(frame, index)), hurt: 1 }
  },
  swapped(frame, random) {
    const index = below(frame.length - 1, random)
    return { bytes: frame.with(index, at(frame, index + 1)).with(index + 1, at(frame, index)), hurt: 2 }
  },
  /** In half of the cases exactly one frame's worth of bytes is lost between them. */
  stitched(frame, random, next) {
    const end = 1 + below(frame.length - 1, random)
    const start = random() < 0.5 ? Math.min(end, next.length) : below(next.length, random)
    return { bytes: [...frame.slice(0, end), ...next.slice(start)], hurt: frame.length - end + start }
  },
} satisfies Record<string, Damage>

type DamageKind = keyof typeof damages

function flipped(frame: Bytes, index: number, random: Random): number[] {
  return frame.with(index, at(frame, index) ^ (1 << below(8, random)))
}

const seed = 1405
const damagedBytes = 1_000_000

/**
 * `mayPass` is the maximum share of a kind's damaged frames that an 8-bit XOR with exact widths
 * must accept, derived below. `invented` is the number of readings that this seed gets accepted
 * without having been sent.
 *
 * - oneBit, wrongByte, doubled: none. One changed or added byte changes the XOR.
 * - lost: none. A body has six fields, so no comma may be lost: an undetected loss empties one
 *   field, which has three digits, `ddd.dd`, the same with a sign, or a polarity. Digits have a
 *   high nibble of 3, the point and signs one of 2: in each case the nibbles' XOR is not 0.
 * - burst, added: 1 in 256. Whatever the other noise bytes are, at most one value of the last one
 *   makes the checksum right. The widths require digits where digits were, which makes it far less
 *   likely. If the noise ends in the checksum itself, two values may match, a letter in either
 *   case, but then ETX or the checksum's other digit is noise too: 2 in 256 of 1 in 128.
 * - CR or LF after the checksum, and its letter's case, cause no acceptance by themselves: they are
 *   not summed, so a frame that they make readable is the frame that was sent.
 * - twoBits: 1 in 32. The first flip must leave a byte of the same kind: 12 of a polar frame's 24
 *   bytes are digits of body or checksum, and 3 of a digit's 8 bits leave a digit, which is 0.19,
 *   and with the letters less than 1 in 4. The second flip must then hit the same bit of another
 *   byte: 1 in 8.
 * - stitched: 1 in 14. The first halves of both frames must differ but have the same XOR. Digits
 *   are spread unevenly over 4 bits: the squared shares of the XORs add up to 0.071 for two free
 *   digits, and to less for more (1 in 16 if they were even). A single digit matches only itself.
 * - swapped: 6 in 22. XOR ignores order, so what counts is how many pairs of neighbours are digits:
 *   in a polar frame that ends with CR alone, two pairs of the direction, three of the speed and
 *   one of the status, of 22 pairs; in others fewer. Pairs of equal digits change nothing, which
 *   halves it.
 */
const kinds: Readonly<Record<DamageKind, { readonly mayPass: number; readonly invented: number }>> = {
  oneBit: { mayPass: 0, invented: 0 },
  twoBits: { mayPass: 1 / 32, invented: 141 },
  wrongByte: { mayPass: 0, invented: 0 },
  burst: { mayPass: 1 / 256, invented: 0 },
  lost: { mayPass: 0, invented: 0 },
  added: { mayPass: 1 / 256, invented: 0 },
  doubled: { mayPass: 0, invented: 0 },
  swapped: { mayPass: 6 / 22, invented: 2544 },
  stitched: { mayPass: 1 / 14, invented: 193 },
}
const names = Object.keys(kinds) as DamageKind[]

test('a million damaged bytes cost no undamaged frame, and invent no more than the checksum must accept', (t) => {
  const { invented, damagedFrames, refused } = fuzz(createSeededRandom(seed))
  t.diagnostic(`${damagedFrames} damaged frames of each kind, invented: ${JSON.stringify(invented)}`)
  t.diagnostic(`refused: ${JSON.stringify(refused)}`)
  for (const name of names) {
    assert.equal(invented[name], kinds[name].invented, name)
    assert.ok(invented[name] <= kinds[name].mayPass * damagedFrames, name)
  }
})

/** In each turn, an undamaged frame is followed by a damaged one of the same sensor. */
function fuzz(random: Random) {
  const sensors = Array.from({ length: 300 }, () => drawFrames(40, random))
  const splitter = createFrameSplitter()
  const invented = Object.fromEntries(names.map((name) => [name, 0])) as Record<DamageKind, number>
  let damagedFrames = 0
  for (let hurt = 0; hurt < damagedBytes; damagedFrames++) {
    for (const kind of names) {
      const frames = oneOf(sensors, random)
      const unhurt = oneOf(frames, random)
      const hit = oneOf(frames, random)
      const next = oneOf(frames, random)
      const damaged = damages[kind](hit.bytes, random, next.bytes)
      hurt += damaged.hurt
      const [first, ...rest] = readAll(splitter, [...unhurt.bytes, ...damaged.bytes], random)
      assert.equal(first, unhurt.raw, `an unhurt frame before ${kind} was lost`)
      invented[kind] += rest.filter((raw) => raw !== hit.raw && raw !== next.raw).length
    }
  }
  return { invented, damagedFrames, refused: splitter.refused }
}

/** Arrives in two chunks. */
function readAll(
  splitter: ReturnType<typeof createFrameSplitter>,
  wire: readonly number[],
  random: Random,
): string[] {
  const bytes = Uint8Array.from(wire)
  const seam = below(bytes.length, random)
  const splits = [...splitter.push(bytes.subarray(0, seam), 0), ...splitter.push(bytes.subarray(seam), 0)]
  return splits.flatMap((split) => (split.kind === 'frame' ? [split.reading.raw] : []))
}
