// The figures of `stages`, from made-up turns.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meanOfClusters } from '../../client/statistics.ts'
import { analyseStudy, type Row } from '../lab/study.ts'
import { stagesDesign } from './stages-bench.ts'

test('the cost of stamps is the difference in each session, with its interval', () => {
  const plain = [3000, 3100, 2900]
  const stamped = [3010, 3130, 2920]
  const rowsOf = (stamps: string, medians: readonly number[]) =>
    medians.map(
      (medianMicros, index): Row => ({
        stamps,
        mode: 'sse/2',
        session: index + 1,
        medianMicros,
        cpuMicros: medianMicros / 10,
      }),
    )
  const found = analyseStudy(stagesDesign, {
    levels: { stamps: ['plain', 'stamped'], mode: ['sse/2'] },
    baseline: 'plain',
    samples: [...rowsOf('plain', plain), ...rowsOf('stamped', stamped)],
  })
  const { difference, interval } = meanOfClusters([10, 30, 20])
  assert.deepEqual(
    [found.comparisons[0]?.difference, found.comparisons[0]?.differenceCi95],
    [difference, interval.map((end) => Number(end.toPrecision(6)))],
  )
  assert.deepEqual(stagesDesign.remarks?.(found), [
    'In SSE + XHR over HTTP/2, stamps add 20.0 µs (−4.84 to 44.8) to the median latency and 2.00 µs (−0.48 to 4.48) to the server’s processor time.',
  ])
})
