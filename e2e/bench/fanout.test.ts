// Runs the fanout bench once, small: everything arrives, at modes and at a peer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fanout } from './fanout.ts'
import { readFanoutOptions } from './fanout-options.ts'
import { createProgress } from './progress.ts'

test('four windows receive all that one of them writes', { timeout: 60_000 }, async () => {
  const flags =
    '--modes sse/2,websocket/1.1 --peers ws --windows 4 --rate 10 --seconds 1 --rounds 1 --warmup 0 --per-browser 2'
  const options = readFanoutOptions(flags.split(' '))
  const silent = createProgress({ write: () => undefined })
  const { rows, failures } = await fanout(options, silent, new AbortController().signal)
  assert.deepEqual(failures, [])
  assert.deepEqual(
    rows.map(({ mode, perBrowser, n, lost, duplicated, reordered }) => ({
      mode,
      perBrowser,
      n,
      lost,
      duplicated,
      reordered,
    })),
    ['sse/2', 'websocket/1.1', 'ws'].map((mode) => ({
      mode,
      perBrowser: 2,
      n: 40,
      lost: 0,
      duplicated: 0,
      reordered: 0,
    })),
  )
  for (const { ratioToWs, p50Ms } of rows) assert.ok((ratioToWs ?? 0) > 0 && (p50Ms ?? 0) > 0)
})
