// How every log ends.

import assert from 'node:assert/strict'
import { LogClosed } from './log.ts'
import { countTo, draft, main, seqsOf, type TestLog } from './log-testing.ts'

export function testClosing(testLog: TestLog): void {
  testLog('closing stores what is under way, then nothing is taken', async ({ log, seen }) => {
    const appends = countTo(3).map((n) => log.append(draft(`w1-${n}`), 1))
    const closing = log.close()
    const late = assert.rejects(log.append(draft('w1-4'), 1), LogClosed)
    await closing
    await late
    assert.deepEqual(await Promise.all(appends), [1, 2, 3])
    assert.deepEqual(seqsOf(seen), [1, 2, 3])
    await assert.rejects(log.append(draft('w1-5'), 1), LogClosed)
    await assert.rejects(log.read(null, main), LogClosed)
    await assert.rejects(log.snapshot(main), LogClosed)
    await log.close()
  })
}
