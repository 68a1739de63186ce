// How every log tells its followers, whatever they do.

import assert from 'node:assert/strict'
import type { Message } from '../wire/envelope.ts'
import { countTo, draft, fill, idsOf, seqsOf, type TestLog } from './log-testing.ts'

export function testFollowers(testLog: TestLog): void {
  testLog('a follower that left hears nothing', async ({ log }) => {
    const heard: Message[] = []
    const leave = log.follow((message) => heard.push(message))
    await fill(log, 1)
    leave()
    await fill(log, 1, 'w2')
    assert.deepEqual(idsOf(heard), ['w1-1'])
  })

  testLog('a follower that throws costs no number and nobody else', async ({ log, seen, failures }) => {
    const error = new Error('thrown by a follower')
    const leave = log.follow(() => {
      throw error
    })
    const heard: Message[] = []
    log.follow((message) => heard.push(message))
    assert.deepEqual(await Promise.all([log.append(draft('w1-1'), 1), log.append(draft('w1-2'), 1)]), [1, 2])
    leave()
    assert.equal(await log.append(draft('w1-3'), 1), 3)
    assert.deepEqual(
      [seqsOf(seen), seqsOf(heard)],
      [
        [1, 2, 3],
        [1, 2, 3],
      ],
    )
    assert.deepEqual(failures, [error, error])
  })

  testLog('a follower may append, and all hear both in order', async ({ log }) => {
    const answers: Promise<number>[] = []
    const leave = log.follow(({ seq }) => {
      leave()
      for (const _twice of [1, 2]) answers.push(log.append(draft(`answer-${seq}`), 1))
    })
    const heard: Message[] = []
    log.follow((message) => heard.push(message))
    await fill(log, 1)
    assert.deepEqual(await Promise.all(answers), [2, 2])
    assert.deepEqual(idsOf(heard), ['w1-1', 'answer-1'])
  })

  testLog('who follows while messages are told begins after the newest told', async ({ log }) => {
    const heard: Message[] = []
    const leave = log.follow(({ seq }) => {
      leave()
      assert.equal(log.heads().get('main'), seq)
      log.follow((message) => heard.push(message))
    })
    await Promise.all(countTo(5).map((n) => log.append(draft(`w1-${n}`), 1)))
    assert.deepEqual(seqsOf(heard), [2, 3, 4, 5])
  })
}
