// `--listen` prints and counts frames, and writes nothing to a sensor that is not polled.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listen } from './listen.ts'
import { portSettings, reading, setStage } from './testing.ts'

const bounded = { timeout: 10_000 }
const calm = '\x02Q,,000.04,M,00,\x032A\r\n'
const fault = '\x02Q,,,M,04,\x0334\r\n'
const wrongSum = '\x02Q,229,002.74,M,00,\x0317\r\n'
const uv = '\x02Q,+001.59,-002.74,M,00,\x033A\r\n'
const otherFormat = '\x02Q,012.3,M,\x031E\r\n'
const nmea = '$IIMWV,120,R,002.10,M,A*10\r\n'

function start({
  forSeconds = 2,
  polling = null as null | { node: string; rateHz: number },
  script = '',
} = {}) {
  const stage = setStage((written) => (written === 'Q' ? script : ''))
  const running = listen({ port: portSettings, polling, forSeconds }, stage.context)
  const send = (text: string, atMs: number) => stage.time.later(() => stage.ports[0]?.receive(text), atMs)
  return { ...stage, send, done: () => stage.play(running) }
}

test('prints and counts each line beside the reading that it became', bounded, async () => {
  const { send, done, printed, written } = start()
  send(reading.slice(0, 10), 100)
  send(`${reading.slice(10)}${calm}`, 110)
  send(fault + wrongSum, 350)
  send(uv + nmea, 600)
  send(`\xfe\x82${reading}`, 700)
  send('CONFIGURATION MODE\r\n', 800)
  send('\xfe\x82Q,2', 900)
  await done()
  assert.deepEqual(printed, [
    '',
    '  /dev/wind at 9600 baud, parity none, for 2 s; nothing is written to it',
    '',
    '  seconds   as it came                               read as',
    '    0.100   <STX>Q,229,002.74,M,00,<ETX>16           229°   2.74 m/s',
    '    0.110   <STX>Q,,000.04,M,00,<ETX>2A              calm   0.04 m/s',
    '    0.350   <STX>Q,,,M,04,<ETX>34                    fault, status 04',
    '    0.350   <STX>Q,229,002.74,M,00,<ETX>17           refused: checksum',
    '    0.600   <STX>Q,+001.59,-002.74,M,00,<ETX>3A      240°   3.17 m/s',
    '    0.600   $IIMWV,120,R,002.10,M,A*10               120°   2.10 m/s',
    '    0.700   \\xfe\\x82',
    '    0.700   <STX>Q,229,002.74,M,00,<ETX>16           229°   2.74 m/s',
    '    0.800   CONFIGURATION MODE',
    '    0.900   \\xfe\\x82Q,2',
    '',
    '  4 measured, 1 calm, 1 fault, 1 refused (checksum)',
    '',
  ])
  assert.equal(written(), '')
})

test('for silence and for garbage, ends with the sentence that windows would show', bounded, async () => {
  const silent = start()
  await assert.rejects(silent.done(), {
    name: 'SensorFailure',
    message: /has sent nothing for 2 s: check.*once in 4 s: listen for longer\.$/,
  })
  const garbled = start()
  garbled.send('\xfe\x82\x92\xff\x8a\xfe\x82\x92\xff\x8a', 500)
  await assert.rejects(garbled.done(), { message: /makes no sense at 9600 baud.*try 38400/ })
  assert.deepEqual([silent.written(), garbled.written()], ['', ''])
})

test('reports whole frames of another format', bounded, async () => {
  const { send, done, printed } = start()
  for (let i = 1; i < 7; i++) send(otherFormat, i * 250)
  await assert.rejects(done(), {
    message: /is intact, but in an unsupported format \(.*\): .* set .* to M2\.$/,
  })
  assert.equal(printed.at(-2), '  6 refused (layout)')
})

test('polls a polled sensor, and disables it afterwards', bounded, async () => {
  const { done, written, printed } = start({
    polling: { node: 'Q', rateHz: 2 },
    forSeconds: 1,
    script: reading,
  })
  await done()
  assert.equal(written(), '?QQ!')
  assert.match(printed[1] ?? '', /asked for Q, 2 times a second$/)
  assert.equal(printed.at(-2), '  2 measured')
})

test('reports that a silent sensor was polled', bounded, async () => {
  const { done } = start({ polling: { node: 'Q', rateHz: 2 }, forSeconds: 2 })
  await assert.rejects(done(), { message: /has not answered 4 questions in a row: .*\(here Q\)\.$/ })
})

test('prints the counts when Ctrl-C ends it', bounded, async () => {
  const { send, ending, done, printed, time } = start({ forSeconds: 3600 })
  send(reading, 100)
  time.later(() => ending.abort(), 1000)
  await done()
  assert.equal(printed.at(-2), '  1 measured')
  assert.equal(time.pending(), 0)
})

test('names a port that disappears, with the reason', bounded, async () => {
  const { send, done, ports, time } = start()
  send(reading, 100)
  time.later(() => ports[0]?.unplug(), 300)
  await assert.rejects(done(), { message: '/dev/wind cannot be used: the port closed.' })
  assert.equal(time.pending(), 0)
})
