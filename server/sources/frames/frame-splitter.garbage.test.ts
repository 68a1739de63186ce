// Checks what comes between frames: garbage, banners, answers to commands, other instruments, and too much of anything.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameSplitter } from './frame-splitter.ts'
import { feed, outline, wireOf } from './testing.ts'

const polar = 'Q,229,002.74,M,00,'
const nmea = 'IIMWV,284,R,001.26,K,A'
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

test('banner and answers are stray bytes, no refusals, and cost no frame', () => {
  for (const talk of [banner, answers]) {
    const splitter = createFrameSplitter()
    assert.deepEqual(outline(feed(wireOf(polar) + talk + wireOf(nmea) + talk, 5, splitter)), [polar, nmea])
    assert.deepEqual(splitter.refused, noRefusal)
    assert.equal(splitter.strayBytes, 2 * talk.replace(/[\r\n]/g, '').length)
  }
})

test('a banner in the middle of a frame costs that frame', () => {
  assert.deepEqual(outline(feed(wireOf(polar).slice(0, 9) + banner + wireOf(polar), 5)), ['cut', polar])
})

test('bursts of shifted bytes between frames are passed over', () => {
  const garbage = '\xfe\x82\x92\xff\x8a'.repeat(50)
  const splitter = createFrameSplitter()
  const text = garbage + wireOf(polar) + garbage + wireOf(nmea) + garbage
  assert.deepEqual(outline(feed(text, 11, splitter)), [polar, nmea])
  assert.deepEqual(splitter.refused, noRefusal)
  assert.equal(splitter.strayBytes, 750)
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

test('a $ in garbage is a stray byte, and the frame behind it is read', () => {
  for (const start of ['$', '$$', '$I', '$IIMWV', '$IIM$', '$GPRMC,1234*55\r\n', 'x$\r\n']) {
    for (const body of [polar, nmea]) {
      const splitter = createFrameSplitter()
      assert.deepEqual(outline(feed(start + wireOf(body), 2, splitter)), [body], start)
      assert.deepEqual(splitter.refused, noRefusal)
      assert.equal(splitter.strayBytes, start.replace(/[\r\n]/g, '').length)
    }
  }
})

test('a frame in the middle of one of the other kind costs that one alone', () => {
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

test('a $ or an STX that hit a frame costs that frame alone', () => {
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

test('700 bytes and a megabyte without a frame leave nothing behind but counts', () => {
  for (const length of [700, 1_000_000]) {
    for (const start of ['', '\x02', '\x02Q,229,', '$IIMWV,', `\x02${polar}\x03`]) {
      const splitter = createFrameSplitter()
      const splits = feed(`${start}${'7'.repeat(length)}`, 4096, splitter)
      assert.ok(splits.length <= 1)
      assert.ok(splitter.strayBytes > length - 64)
      assert.deepEqual(outline(feed(wireOf(polar), 3, splitter)), [polar])
    }
  }
})

test('a megabyte of marks is refused one by one and kept nowhere', () => {
  const splitter = createFrameSplitter()
  for (let i = 0; i < 1000; i++) splitter.push(Buffer.from('\x02$'.repeat(500)), i)
  assert.equal(splitter.refused.cut, 500_000)
  assert.deepEqual(outline(feed(wireOf(polar), 3, splitter)), [polar])
})
