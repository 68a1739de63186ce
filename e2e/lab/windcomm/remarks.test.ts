import assert from 'node:assert/strict'
import { test } from 'node:test'
import { profiles } from '../../network/profiles.ts'
import { madeWindRun, type WindMaking } from './made-run.ts'
import { analyse } from './summary.ts'

const modes = ['websocket/1.1', 'long-polling/1.1', 'polling/1.1']
const times: Readonly<Record<string, number>> = {
  'websocket/1.1': 1,
  'long-polling/1.1': 1,
  'polling/1.1': 2.7,
}

function remarks(making: WindMaking, lateMs = 0.1): string {
  const run = madeWindRun({ modes, readings: 40, ...making })
  const links = run.links.map((link) => ({ ...link, lateMs }))
  return analyse({ ...run, links }).remarks.join('\n')
}

const lund = (longPolling: number): WindMaking => ({
  sites: ['lund'],
  latencyOf: (_site, mode, place) =>
    (mode === 'long-polling/1.1' ? longPolling : (times[mode] ?? 0)) * (88 + (place % 2)),
})

const farAway: WindMaking = {
  sites: ['nagaoka'],
  latencyOf: (_site, mode) => 160 * ({ ...times, 'long-polling/1.1': 2 }[mode] ?? 0),
}

test('nothing is said where all is as in the paper', () => {
  assert.equal(remarks(lund(1)), '')
})

test('a higher ratio is named, with the machine’s part where its links were late', () => {
  assert.match(
    remarks(lund(1.3)),
    /^Lund, long polling: 1\.30 times WebSocket here, 0\.95 to 1\.03 times in the paper\. The model, .* has 1\.0\d; the rest is chance/,
  )
  assert.match(
    remarks(lund(1.3), 7),
    /has 1\.0\d; the rest is this machine, which had too much to do: its links alone were late by \d\.\d\d ms/,
  )
  assert.match(
    remarks({ ...lund(1.3), faster: 10 }),
    /the machine, whose own few milliseconds do not get faster and weigh 10 times as much/,
  )
})

test('what the model has too is the network’s doing', () => {
  const run = madeWindRun({ ...lund(2.04), modes, readings: 400 })
  const sites = run.sites.map((site) => ({ ...site, profile: profiles.nagaoka }))
  const [said = ''] = analyse({ ...run, sites }).remarks
  assert.match(
    said,
    /^Lund, long polling: 2\.04 times .* it is the method over this network, not the machine\.$/,
  )
})

test('differences that only pairs find are named', () => {
  // A stall now and then hides from Welch what every single reading shows.
  const stalled = (_site: string, mode: string, place: number) =>
    110 + (place % 2) + (place % 9 === 0 ? 400 : 0) + (mode === 'sse/2' ? 1.5 + (place % 3) / 10 : 0)
  const said = remarks({ sites: ['lund', 'caracas'], modes: ['websocket/1.1', 'sse/2'], latencyOf: stalled })
  assert.match(
    said,
    /reading by reading, .* they are there: .*Caracas, SSE \+ XHR over HTTP\/2 against WebSocket, \+1\.\d\d ms\./,
  )
})

test('polling off its formula, and polling in step with the readings, are told', () => {
  const polling = (oneWayMs: number, took: number) =>
    remarks({
      sites: ['lan'],
      modes: ['websocket/1.1', 'polling/1.1'],
      latencyOf: (_site, mode) => (mode === 'polling/1.1' ? took : oneWayMs),
    })
  assert.match(polling(90, 300), /Lan: polling took 18 % more than 2ν \+ Δ\/2 = 255 ms; the rest is chance/)
  assert.match(
    polling(49, 173),
    /Lan: a round of polling, 2ν \+ Δ = 248 ms, is nearly the 250 ms between two readings\./,
  )
  assert.doesNotMatch(polling(90, 255), /polling/)
})

test('a lower one is held against what the paper’s figure would take', () => {
  const nagaoka = remarks(farAway)
  assert.match(
    nagaoka,
    /Nagaoka, long polling: 2\.00 times WebSocket here, 3\.59 to 4\.22 times in the paper\./,
  )
  assert.match(
    nagaoka,
    /585\.7 to 647\.0 ms take a network of 293 to 324 ms one way, where its WebSocket had met 153 to 163 ms/,
  )
  assert.match(nagaoka, /polling: .* 584\.3 to 700\.1 ms take a network of 255 to 313 ms/)
})

test('beyond M/2 the paper’s 3ν/2 is set against the measured and the model’s', () => {
  const nagaoka = remarks(farAway)
  assert.match(
    nagaoka,
    /ν = 160 ms, beyond M\/2 = 125 ms: .* 3ν\/2 = 240 ms and at worst 2ν = 320 ms; measured were 320 ms/,
  )
  assert.match(
    nagaoka,
    /in the model the stalls add .* to WebSocket’s mean, .* to long polling’s mean and .* to polling’s mean/,
  )
})

test('differences that only Welch finds are named', () => {
  // One stall in forty readings: a heap of late ones that follow each other.
  const stalled = (_site: string, mode: string, place: number) =>
    100 +
    (place % 2) +
    (mode === 'polling/1.1' ? 170 : 0) +
    (mode === 'long-polling/1.1' && place >= 20 ? 8 : 0)
  const said = remarks({ sites: ['caracas'], readings: 60, latencyOf: stalled })
  assert.match(
    said,
    /Welch’s test, .* leave it open: Caracas, Long polling over HTTP\/1\.1 against WebSocket, \+/,
  )
})

test('polling that marches in step with the readings says what they are worth', () => {
  const marching = (pollMs: (place: number) => number): WindMaking => ({
    sites: ['edmonton'],
    readings: 400,
    latencyOf: (_site, mode, place) => (mode === 'polling/1.1' ? pollMs(place) : 48 + (place % 2)),
  })
  assert.match(
    remarks(marching((place) => 171 + 20 * (place % 2))),
    /nearly the 250 ms between two readings\. .* This run went through them evenly: its 400 readings are worth no fewer\./,
  )
  assert.match(
    remarks(marching((place) => 171 + 20 * (Math.floor(place / 50) % 2))),
    /which phases a run meets\. Of this run 400 readings are worth \d\d?\./,
  )
})
