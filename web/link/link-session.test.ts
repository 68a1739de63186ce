// Sessions that end, guests that are not invited any more, and refusals.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settled } from './testing.ts'
import { openLink } from './testing-link.ts'

const expired = { code: 'expired', sentence: 'The session has ended.', retryAfterMs: 0 } as const

test('a session that ended is renewed, and the stream goes on from the cursor at once', async () => {
  let renewals = 0
  const renewSession = async () => {
    renewals += 1
    return true
  }
  const { time, newest, heard } = openLink({ renewSession })
  newest().welcome()
  newest().message(6)
  newest().end(expired)
  assert.deepEqual([heard.newest?.state, heard.newest?.reason], ['waiting', 'The session has ended.'])
  await settled()
  time.advance(0)
  assert.deepEqual([newest().cursor, renewals], ['life1:6', 1])
})

test('one that is renewed and ends again and again does not turn in circles', async () => {
  const { time, streams, newest } = openLink()
  for (let n = 0; n < 4; n += 1) {
    newest().end(expired)
    await settled()
    time.advance(n === 0 ? 0 : 250 * 2 ** n)
  }
  assert.equal(streams.length, 5)
  newest().end(expired)
  await settled()
  time.advance(2000)
  assert.equal(streams.length, 5)
})

test('a guest who is not invited any more is told, and asks once a minute at most', async () => {
  const { time, streams, newest, heard } = openLink({ renewSession: async () => false })
  newest().welcome()
  newest().end(expired)
  await settled()
  assert.match(heard.newest?.reason ?? '', /not invited any more; open your link once more/)
  time.advance(59_999)
  assert.equal(streams.length, 1)
  time.advance(1)
  assert.equal(streams.length, 2)
})

test('a server that cannot be asked for the session is a loss like others', async () => {
  const { time, streams, newest } = openLink({ renewSession: () => Promise.reject(new Error('no answer')) })
  newest().welcome()
  newest().end(expired)
  await settled()
  time.advance(250)
  assert.equal(streams.length, 2)
})

test('a stream that is refused looks lost: after the second time the session is asked for', async () => {
  const asked: number[] = []
  const { time, streams, newest, heard } = openLink({
    renewSession: async () => {
      asked.push(streams.length)
      return false
    },
  })
  newest().end()
  await settled()
  time.advance(250)
  newest().end()
  await settled()
  assert.deepEqual(asked, [2])
  assert.match(heard.newest?.reason ?? '', /not invited any more/)
  assert.equal(heard.newest?.mode, 'sse/2')
  time.advance(50_000)
  assert.equal(streams.length, 2)
})

for (const code of ['refused', 'uninvited'] as const) {
  test(`"${code}" is told with its sentence, tried slowly and in the same mode`, () => {
    const { time, streams, newest, heard } = openLink()
    for (let n = 1; n <= 5; n += 1) {
      newest().end({ code, sentence: 'Not like this.' })
      assert.deepEqual([heard.newest?.reason, heard.newest?.mode], ['Not like this.', 'sse/2'])
      time.advance(59_999)
      assert.equal(streams.length, n)
      time.advance(1)
    }
  })
}

test('what was answered about the session after all was closed opens nothing', async () => {
  const { link, time, streams, newest } = openLink()
  newest().end(expired)
  link.close()
  await settled()
  time.advance(60_000)
  assert.deepEqual([streams.length, time.pending()], [1, 0])
})
