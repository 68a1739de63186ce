// The size limit of a message depends on its sender.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantWith } from '../security/testing.ts'
import { maxBytesFor, tooLargeFor } from './bodies.ts'

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
  assert.deepEqual(refusalOf({ write: [] }), ['read-only-invitation', '4096 bytes', 'This session'])
})
