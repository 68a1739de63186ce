// Checks that a silent sensor, a wrong rate, another format and the like are told apart in words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frame, start, wire } from './serial-source-testing.ts'

test('three seconds without a byte are silence, and one frame ends it', () => {
  const { time, port, states, names } = start()
  port().succeed()
  port().receive(frame)
  time.advance(250)
  port().receive(frame.slice(0, -1))
  time.advance(1)
  port().receive('\n')
  time.advance(2998)
  assert.deepEqual(names(), ['connected'])
  time.advance(1)
  assert.deepEqual(names(), ['connected', 'silent'])
  assert.match(states[1]?.sentence ?? '', /\/dev\/no-such-wind has sent nothing for 3 s/)
  time.advance(60_000)
  port().receive(frame)
  assert.deepEqual(names(), ['connected', 'silent', 'connected'])
})

test('a sensor that sends once in four seconds is slow, not silent', () => {
  const { time, port, names } = start()
  port().succeed()
  for (let i = 0; i < 20; i++) {
    time.advance(4000)
    port().receive(frame)
  }
  // Before the first reading nobody can know.
  assert.deepEqual(names(), ['silent', 'connected'])
  time.advance(10_000)
  assert.equal(names().at(-1), 'silent')
})

test('a port that never says anything is silent', () => {
  const { time, port, names } = start()
  port().succeed()
  time.advance(3000)
  assert.deepEqual(names(), ['silent'])
})

test('steady garbage asks for the baud rate, once', () => {
  const { time, port, states, readings } = start()
  port().succeed()
  for (let i = 0; i < 100; i++) {
    port().receive('\xfe\x82\x92\xff\x8a')
    time.advance(250)
  }
  assert.equal(states.length, 1)
  assert.equal(states[0]?.state, 'garbled')
  assert.match(states[0]?.sentence ?? '', /makes no sense at 9600 baud.*try 38400, 19200, 4800 or 2400/)
  assert.equal(readings.length, 0)
  time.advance(6000)
  assert.equal(states.at(-1)?.state, 'silent')
})

interface Trouble {
  readonly what: string
  readonly text: string
  readonly times: number
  readonly everyMs: number
  readonly state: string
  readonly sentence: RegExp
}

const often = { times: 20, everyMs: 250, state: 'garbled' }
const once = { times: 1, everyMs: 10_000, state: 'silent' }
const troubles: readonly Trouble[] = [
  {
    ...often,
    what: 'intact frames that are not read here',
    text: wire('Q,012.3,M,'),
    sentence: /in a format that is not read here/,
  },
  {
    ...often,
    what: 'damaged frames',
    text: '\x02Q,2,274,,,1\r',
    sentence: /Pieces of readings.*parity \(now none\)/,
  },
  {
    ...often,
    what: 'another instrument',
    text: '$GPGGA,123519,4807.038,N\r\n',
    sentence: /no readings of a WindSonic \("\$GPGGA,/,
  },
  {
    ...often,
    what: 'a byte now and then',
    text: '\x00',
    times: 6,
    everyMs: 2900,
    sentence: /Only a few bytes/,
  },
  {
    ...once,
    what: 'configuration mode',
    text: 'CONFIGURATION MODE\r\n',
    sentence: /is in configuration mode.*--configure D3/,
  },
  {
    ...once,
    what: 'a banner and no more',
    text: 'WINDSONIC (Gill Instruments Ltd)\r\n',
    sentence: /has started but.*polled/,
  },
]
for (const { what, text, times, everyMs, state, sentence } of troubles) {
  test(`${what}: said as that, once`, () => {
    const { time, port, states } = start()
    port().succeed()
    for (let i = 0; i < times; i++) {
      port().receive(text)
      time.advance(everyMs)
    }
    assert.equal(states.length, 1)
    assert.equal(states[0]?.state, state)
    assert.match(states[0]?.sentence ?? '', sentence)
    port().receive(frame)
    assert.equal(states.at(-1)?.state, 'connected')
  })
}

test('a polled sensor that does not answer is said to have been asked', () => {
  const { time, port, states } = start({ node: 'B', rateHz: 2 })
  port().succeed()
  time.advance(3000)
  assert.equal(states[0]?.state, 'silent')
  assert.match(
    states[0]?.sentence ?? '',
    /has not answered [56] questions in a row: .*\(here B\); still asking\.$/,
  )
  port().receive(wire('B,229,002.74,M,00,'))
  assert.equal(states.at(-1)?.state, 'connected')
})

test('one that is asked every ten seconds is not silent in between', () => {
  const { time, port, names } = start({ node: 'Q', rateHz: 0.1 })
  port().succeed()
  for (let i = 0; i < 10; i++) {
    time.advance(10_000)
    port().receive(frame)
  }
  assert.deepEqual(names(), ['connected'])
})
