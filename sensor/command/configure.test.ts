// The configuration dialogue with scripted sensors: what is sent, what is printed, how it ends.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configure } from './configure.ts'
import { portSettings, reading, type SensorOptions, scriptSensor, setStage } from './testing.ts'

/** A wait that never ends counts as a failure. */
const bounded = { timeout: 10_000 }

function start(commands: readonly string[], sensor: SensorOptions = {}) {
  const stage = setStage(scriptSensor(sensor))
  const running = configure({ port: portSettings, node: 'Q', commands }, stage.context)
  return { ...stage, running, done: () => stage.play(running) }
}

const failure = (message: string | RegExp) => ({ name: 'SensorFailure', message })

test('shows the whole dialogue, and explains the settings', bounded, async () => {
  const { done, printed, written, ports } = start(['P3', 'M2'])
  await done()
  assert.equal(written(), '*P3\rM2\rD3\rQ\r')
  assert.equal(ports.at(-1)?.closings, 1)
  const text = printed.join('\n')
  assert.ok(
    text.startsWith(`
  /dev/wind at 9600 baud, parity none

  *         CONFIGURATION MODE
  P3 ⏎      P3
  M2 ⏎      M2
  D3 ⏎      D3
            M2,U1,O1,L1,P3,B3,H1,NQ,F1,E3,T1,S4,C2,G0,K50,
  Q ⏎       Q
            WINDSONIC (Gill Instruments Ltd)
            2368-103
            CHECKSUM ROM:4651 4651 *PASS*
            <STX>Q,229,002.74,M,00,<ETX>16

  The sensor is now set to

  M2    message          Gill, polar, continuous
  U1    unit             metres per second
`),
    text,
  )
  assert.ok(text.endsWith('\n  It measures again: 229°   2.74 m/s\n'), text)
})

test('sends D3 only once, and changes nothing with D3 alone', bounded, async () => {
  const { done, written } = start(['D1', 'D3'])
  await done()
  assert.equal(written(), '*D1\rD3\rQ\r')
})

test('calls a polled sensor by its letter, and polls it for a reading afterwards', bounded, async () => {
  const { done, written, printed } = start(['M4', 'NB'], { isPolled: true })
  await done()
  assert.equal(written(), '**QM4\rNB\rD3\rQ\r?B')
  assert.ok(printed.includes('  *         (no answer)'))
  assert.ok(
    printed.includes('  From now on start the server with --sensor-mode polled --sensor-node B'),
    printed.join('\n'),
  )
})

test('finds a sensor that was left in configuration mode', bounded, async () => {
  const { done, written } = start(['M2'], { isConfiguring: true })
  await done()
  // The star and the call were the beginning of a line; D3 is sent on a line of its own.
  assert.equal(written(), '**Q\rD3\rM2\rD3\rQ\r')
})

test('follows and confirms a new baud rate, and prints the server’s new flags', bounded, async () => {
  const { done, ports, printed } = start(['B5', 'P3'])
  await done()
  const said = ports.map(({ settings, written }) => [settings.baudRate, written.join('')])
  assert.deepEqual(said, [
    [9600, '*B5\r'],
    [38400, 'B\rP3\rD3\rQ\r'],
  ])
  assert.ok(printed.includes('            (reopened the port: 38400 baud, parity none)'), printed.join('\n'))
  assert.ok(printed.includes('  From now on start the server with --sensor-baud-rate 38400'))
})

test('finds a sensor that changes its rate only when it leaves configuration mode', bounded, async () => {
  const onOpened = (count: number) => (count === 4 ? reading : '')
  const stage = setStage(scriptSensor({ isSlowToChange: true, measures: '' }), { onOpened })
  await stage.play(configure({ port: portSettings, node: 'Q', commands: ['B5'] }, stage.context))
  const said = stage.ports.map(({ settings, written }) => [settings.baudRate, written.join('')])
  assert.deepEqual(said, [
    [9600, '*B5\r'],
    [38400, 'B\r'],
    [9600, '\rD3\rQ\r'],
    [38400, ''],
  ])
  assert.ok(stage.printed.includes('  From now on start the server with --sensor-baud-rate 38400'))
})

test('reports a sensor that does not measure afterwards', bounded, async () => {
  const { done, time } = start(['P3'], { measures: '' })
  await assert.rejects(done(), failure('It is set, but sends no readings.'))
  assert.equal(time.pending(), 0)
})

test('does not treat the current rate as a change', bounded, async () => {
  const { done, ports } = start(['B3'])
  await done()
  assert.equal(ports.length, 1)
})

test('reports a silent sensor within seconds', bounded, async () => {
  const stage = setStage(() => '')
  const startAt = stage.time.now()
  const running = configure({ port: portSettings, node: 'Q', commands: ['D3'] }, stage.context)
  await assert.rejects(
    stage.play(running),
    failure(
      /^No sensor answers on \/dev\/wind at 9600 baud, parity none: .*try another --baud.*\(here Q\)\.$/,
    ),
  )
  assert.ok(stage.time.now() - startAt < 10_000)
  assert.deepEqual([stage.ports[0]?.closings, stage.time.pending()], [1, 0])
})

test('suggests checking the wire if a sensor sends readings but does not react', bounded, async () => {
  const stage = setStage((written) => (written === '*' ? reading.repeat(3) : ''))
  const running = configure({ port: portSettings, node: 'Q', commands: ['D3'] }, stage.context)
  await assert.rejects(stage.play(running), failure(/sends readings but accepts no commands: check the wire/))
})

test('suggests another rate for garbage', bounded, async () => {
  const stage = setStage(() => '\xfe\x82\x92\xff\x8a\xfe\x82\x92\xff')
  const running = configure({ port: portSettings, node: 'Q', commands: ['D3'] }, stage.context)
  await assert.rejects(stage.play(running), failure(/makes no sense at 9600 baud.*--baud 38400, 19200/))
})

test('names the commands that the sensor did not accept', bounded, async () => {
  const { done, printed } = start(['M5', 'U2', 'P3', 'P2'], { refuses: ['M5', 'U2'] })
  await assert.rejects(done(), failure('The sensor did not accept M5, U2.'))
  assert.ok(printed.includes('            ILLEGAL'))
})

test(
  'tells a sensor that falls silent half-way to leave configuration mode all the same',
  bounded,
  async () => {
    const sensor = scriptSensor()
    const stage = setStage((written, port) => (written === 'M2\r' ? '' : sensor(written, port)))
    const running = configure({ port: portSettings, node: 'Q', commands: ['M2', 'P3'] }, stage.context)
    await assert.rejects(stage.play(running), failure('The sensor did not answer M2 within 3 s.'))
    assert.equal(stage.written(), '*M2\rQ\r')
    assert.equal(stage.printed.at(-1), '  Q ⏎       (so that it measures again)')
  },
)

test('leaves configuration mode on Ctrl-C', bounded, async () => {
  const { done, written, ending, time } = start(['M2', 'D6'])
  time.later(() => ending.abort(), 500)
  await assert.rejects(done(), failure('Stopped.'))
  assert.equal(written(), '*M2\rQ\r')
})

test('writes nothing to a port that cannot be opened or is gone', bounded, async () => {
  const missing = 'Error: No such file or directory, cannot open /dev/wind'
  const stage = setStage(() => '', { refusals: [missing] })
  const running = configure({ port: portSettings, node: 'Q', commands: ['M2'] }, stage.context)
  await assert.rejects(
    stage.play(running),
    /\/dev\/wind cannot be used: there is no such port; plug the sensor in/,
  )
  assert.equal(stage.written(), '')
  const lost = start(['M2'])
  lost.time.later(() => lost.ports[0]?.unplug(), 100)
  await assert.rejects(lost.done(), failure('/dev/wind cannot be used: the port closed.'))
  assert.equal(lost.written(), '*')
  assert.match(lost.printed.at(-3) ?? '', /may still be in configuration mode/)
})

test('warns if a sensor cannot be told to leave configuration mode', bounded, async () => {
  const stage = setStage(scriptSensor())
  const { createPort } = stage.context
  const context = {
    ...stage.context,
    createPort(settings: typeof portSettings) {
      if (settings.baudRate !== 9600)
        throw new Error('Error Resource temporarily unavailable Cannot lock port')
      return createPort(settings)
    },
  }
  const running = configure({ port: portSettings, node: 'Q', commands: ['B5'] }, context)
  await assert.rejects(stage.play(running), failure('/dev/wind cannot be used: another program has it open.'))
  assert.equal(stage.written(), '*B5\r')
  const text = stage.printed.join('\n')
  assert.doesNotMatch(text, /so that it measures again/)
  assert.match(text, /on \/dev\/wind may still be in configuration mode, .* --configure D3, or switch/s)
})

test('retries a port that cannot be reopened at once', bounded, async () => {
  const stage = setStage(scriptSensor(), { refusals: [] })
  const busy = 'Error: No such file or directory, cannot open /dev/wind'
  const { createPort } = stage.context
  let openings = 0
  const context = {
    ...stage.context,
    createPort(settings: typeof portSettings) {
      openings += 1
      if (openings === 2 || openings === 3) throw new Error(busy)
      return createPort(settings)
    },
  }
  await stage.play(configure({ port: portSettings, node: 'Q', commands: ['B5'] }, context))
  assert.equal(openings, 4)
})

test('reads settings that are listed with spaces, and uses the last list', bounded, async () => {
  const sensor = scriptSensor()
  const stage = setStage((written, port) => {
    const answer = sensor(written, port)
    return answer.startsWith('D3') ? answer.replaceAll(',', ', ') : answer
  })
  await stage.play(configure({ port: portSettings, node: 'Q', commands: ['D3', 'P3'] }, stage.context))
  assert.ok(stage.printed.includes('  P3    readings         4 a second'), stage.printed.join('\n'))
})

test('reports a sensor that does not list its settings', bounded, async () => {
  const sensor = scriptSensor()
  const stage = setStage((written, port) => (written === 'D3\r' ? 'D3\r\nQ\r\n' : sensor(written, port)))
  const running = configure({ port: portSettings, node: 'Q', commands: ['P3'] }, stage.context)
  await assert.rejects(stage.play(running), failure(/did not list its settings \(D3\)/))
})
