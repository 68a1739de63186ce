// The warning about HTTP/1.1 comes with the fifth window and goes with one fewer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modeNamed } from '../../server/wire/modes.ts'
import { http1Warning } from './http1-warning.ts'

const overHttp1 = modeNamed('sse/1.1')

test('no warning while the next window has room', () => {
  assert.equal(http1Warning(overHttp1, 0), null)
  assert.equal(http1Warning(overHttp1, 4), null)
})

test('warns at the limit, in full', () => {
  assert.equal(
    http1Warning(overHttp1, 5)?.sentence,
    'Five windows of this browser are open over HTTP/1.1, and a browser opens six connections to a host. ' +
      'The next window would leave none for typing, and the one after would hang without an error.',
  )
})

test('past the limit says that none is left', () => {
  assert.match(http1Warning(overHttp1, 6)?.sentence ?? '', /^Six windows .* That leaves none for typing, /)
  assert.match(http1Warning(overHttp1, 12)?.sentence ?? '', /^12 windows /)
})

test('offers the mode of the same transport that has no limit', () => {
  assert.equal(http1Warning(overHttp1, 5)?.wayOut?.name, 'sse/2')
})

test('modes without a limit, and unknown ones, never warn', () => {
  assert.equal(http1Warning(modeNamed('sse/2'), 9), null)
  assert.equal(http1Warning(modeNamed('websocket/1.1'), 9), null)
  assert.equal(http1Warning(undefined, 9), null)
})
