// Reading bodies: the size limit of a message depends on its sender, and an aborted request is not waited for.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { mock, test } from 'node:test'
import { createManualTime } from '../../protocol/testing.ts'
import { defaultEngine } from '../config/engine-settings.ts'
import { RateLimit } from '../hub/rate-limit.ts'
import { openGrant } from '../security/grants.ts'
import { grantWith } from '../security/testing.ts'
import { BodyReader, maxBytesFor, tooLargeFor } from './body-reader.ts'
import { Budget } from './budget.ts'

const limits = { maxMessageBytes: 65_536, bodySeconds: 10 }

test('a writer sends messages up to the limit of the server, or of its permit, whichever is smaller', () => {
  const maxOf = (maxMessageBytes: number | null) => maxBytesFor(grantWith({ maxMessageBytes }), limits)
  assert.deepEqual([maxOf(null), maxOf(5000), maxOf(1e9)], [65_536, 5000, 65_536])
})

test('a client that may write nothing sends at most 4 KiB', () => {
  assert.equal(maxBytesFor(grantWith({ write: [] }), limits), 4096)
})

test('the refusal says whose limit it is', () => {
  const refusalOf = (change: Parameters<typeof grantWith>[0]) => {
    const { code, message } = tooLargeFor(grantWith(change), limits)
    return [code, /\d+ bytes/.exec(message)?.[0], /limits\.|This session/.exec(message)?.[0]]
  }
  assert.deepEqual(refusalOf({}), ['too-large', '65536 bytes', 'limits.'])
  assert.deepEqual(refusalOf({ maxMessageBytes: 5000 }), ['too-large', '5000 bytes', 'This session'])
})

test('a reader’s large message is refused because it is a message, another body because it is large', async () => {
  const reader = grantWith({ write: [] })
  const code = 'read-only-invitation'
  const only = 'This session lets you only read'
  assert.deepEqual(
    [tooLargeFor(reader, limits).code, tooLargeFor(reader, limits).message],
    [code, `${only}; ask for one that lets you write.`],
  )
  const large = () => {
    const { request, bodies } = openBody()
    request.headers['content-length'] = '4097'
    return { request, bodies }
  }
  const message = large()
  await assert.rejects(message.bodies.text(message.request, reader), {
    code,
    message: `${only}; ask for one that lets you write.`,
  })
  const other = large()
  await assert.rejects(other.bodies.bytes(other.request, reader), {
    code,
    message: `${only}, and the body of its requests may have at most 4096 bytes.`,
  })
})

/** A body that has not arrived, read with `bodySeconds` of ten seconds. */
function openBody() {
  const time = createManualTime()
  const penalties = new RateLimit(1000, time.now)
  const budget = new Budget(defaultEngine.limits, time)
  const bodies = new BodyReader({ limits, timers: time, budget, penalties })
  const request = new IncomingMessage(new Socket())
  request.on('error', () => undefined)
  const read = () => bodies.bytes(request, openGrant)
  return { time, penalties, request, bodies, read }
}

const wasAborted = { code: 'aborted' }

test('a body whose request is aborted is refused at once', async () => {
  const { time, request, read } = openBody()
  const reading = read()
  request.push('x')
  request.destroy()
  await assert.rejects(reading, wasAborted)
  assert.equal(time.pending(), 0)
})

test('so is one that is read after its request was aborted, as while an application looks up who sends it', async () => {
  const { time, request, read } = openBody()
  request.destroy()
  await once(request, 'close')
  await assert.rejects(read(), wasAborted)
  assert.equal(time.pending(), 0)
})

test('its connection is charged once for it', async () => {
  const { penalties, request, read } = openBody()
  const charged = mock.method(penalties, 'charge')
  const closed = new Promise((resolve) => request.once('close', resolve))
  const reading = read()
  request.destroy(new Error('the connection was lost'))
  await assert.rejects(reading, wasAborted)
  await closed
  assert.equal(charged.mock.callCount(), 1)
})
