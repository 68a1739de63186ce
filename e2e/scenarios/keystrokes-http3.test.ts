// HTTP/3 in a run's report, from constructed samples: the sentence, the section, the comparisons.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileOf } from '../lab/testing.ts'
import { keystrokes } from './keystrokes.ts'
import { http3Pairs } from './keystrokes-http3.ts'
import { keyRow } from './keystrokes-report.ts'
import { madeRun } from './testing.ts'

/** Over the first network all take 30 ms; over the second HTTP/2 waits for lost packets. */
const meanMs: Readonly<Record<string, number>> = {
  'sse/3 lan': 30,
  'sse/2 lan': 20,
  'websocket/1.1 lan': 30,
  'sse/3 lan+5%': 30,
  'sse/2 lan+5%': 120,
  'websocket/1.1 lan+5%': 20,
}
const modes = Object.keys(meanMs)

function constructed(names: readonly string[], sessions: number) {
  const made = madeRun({
    behaviours: names.map((mode) => ({ mode, medianMs: 30 })),
    sessions,
    keys: 20,
    blocks: 1,
    windows: 3,
  })
  const samples = made.samples.map((sample) => {
    const ms = (meanMs[sample.mode] ?? meanMs[`${sample.mode} lan`] ?? 0) * (1 + sample.session / 10)
    // The third session is undecided between HTTP/3 and WebSocket over the first network.
    const more = sample.mode.startsWith('sse/3 lan') && sample.session === 3 ? 1.3 : 1
    const acceptedAt = sample.sentAt + ms / 2
    return keyRow({ ...sample, acceptedAt, receivedAt: acceptedAt + (more * ms) / 2 })
  })
  const baseline = names.find((name) => name.startsWith('websocket')) ?? ''
  const costs = names.map((mode) => ({ mode, session: 1, cpuMs: 40, rssBytes: 1e8, frontCpuMs: 80 }))
  return { ...made, samples, baseline, costs }
}

test('each mode over HTTP/3 is compared with HTTP/2 and WebSocket over the same network', () => {
  assert.deepEqual(http3Pairs(['sse/3', 'sse/2', 'websocket/1.1', 'bare:sse/2', 'streaming/3']), [
    ['sse/3', 'sse/2'],
    ['sse/3', 'websocket/1.1'],
    ['streaming/3', 'websocket/1.1'],
  ])
  assert.deepEqual(http3Pairs(modes), [
    ['sse/3 lan', 'sse/2 lan'],
    ['sse/3 lan', 'websocket/1.1 lan'],
    ['sse/3 lan+5%', 'sse/2 lan+5%'],
    ['sse/3 lan+5%', 'websocket/1.1 lan+5%'],
  ])
  assert.deepEqual(http3Pairs(['sse/2', 'websocket/1.1']), [])
})

test('one sentence says over which networks HTTP/3 is faster, with intervals', () => {
  const { finding, comparisons } = keystrokes.analyse(constructed(modes, 3))
  assert.match(
    finding,
    /^Against SSE \+ XHR over HTTP\/2, SSE \+ XHR over HTTP\/3 was faster over lan\+5% \(0\.26, 0\.21 to 0\.32\) and slower over lan \(1\.57, 1\.\d+ to 1\.\d+\); against WebSocket it was slower over lan\+5% \(1\.57, .*\) and undecided over lan \(1\.05, 0\.\d+ to 1\.\d+\) \(in brackets: the ratio of the means, with its 95 % interval\)\. /,
  )
  // Each beside itself over the first network, and the four pairs.
  assert.equal(comparisons.length, 3 + 4)
})

test('one session gives ratios without intervals, and one network has no name', () => {
  const { remarks } = keystrokes.analyse(constructed(['sse/3', 'sse/2', 'websocket/1.1'], 1))
  assert.equal(
    remarks[0],
    'Against SSE + XHR over HTTP/2, SSE + XHR over HTTP/3 was undecided (1.50); against WebSocket it was undecided (1.00) (in brackets: the ratio of the means in one session).',
  )
})

test('the report has each network’s modes with their ratios, and what the front needed', () => {
  const report = fileOf(keystrokes, constructed(modes, 3))
  assert.match(report, /Is HTTP\/3 faster here/)
  const row = (mode: string, end: string) =>
    assert.match(report, new RegExp(`\\| ${RegExp.escape(mode)} \\|[\\d. |]+\\| ${end} \\|\n`))
  row('SSE + XHR, HTTP/3 (lan+5%)', String.raw`0\.26 \(0\.21 to 0\.32\) \| 1\.57 \(1\.29 to 1\.92\)`)
  row('WebSocket (lan+5%)', '– \\| –')
  assert.match(
    report,
    /took more than 2 times the median of the same mode over lan in the same session, from/,
  )
  assert.match(report, /Front’s CPU per message and window, µs/)
  // Beside the first network stands each mode alone.
  assert.match(report, /\| SSE \+ XHR, HTTP\/3 \(lan\+5%\) \| 1\.00 \(/)
  const without = fileOf(keystrokes, constructed(['sse/2', 'websocket/1.1'], 3))
  assert.doesNotMatch(without, /Is HTTP\/3 faster here/)
})
