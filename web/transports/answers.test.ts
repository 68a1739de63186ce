// What a refusal down the stream says of its end.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Refused } from '../../server/wire/frames.ts'
import { closingFrom } from './answers.ts'

const refused = (code: string): Refused => ({ type: 'refused', id: null, code, message: 'No.' })

test('a window that is not let in is refused; one whose question the server does not know goes on', () => {
  assert.equal(closingFrom(refused('bad-query'), 0)?.code, 'refused')
  assert.equal(closingFrom(refused('bad-frame'), 0), null)
})
