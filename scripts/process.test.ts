// The timers of this process.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { endsWithin, processTimers } from './process.ts'

test('an overdue task runs at once, and without a warning by Node', async () => {
  const warnings: string[] = []
  const note = ({ name }: Error) => void warnings.push(name)
  process.on('warning', note)
  const { promise, resolve } = Promise.withResolvers<void>()
  processTimers.later(resolve, -250)
  await promise
  // Warnings are emitted in order: after this one, all others have been.
  const told = once(process, 'warning')
  process.emitWarning('the last', 'LastWarning')
  await told
  process.off('warning', note)
  assert.deepEqual(warnings, ['LastWarning'])
})

test('waiting ends at its limit if the work does not', async () => {
  const time = createManualTime()
  const never = endsWithin(new Promise(() => undefined), 500, time)
  time.advance(500)
  assert.equal(await never, false)
  assert.equal(await endsWithin(Promise.resolve(), 500, time), true)
  await assert.rejects(endsWithin(Promise.reject(new Error('no')), 500, time), /no/)
})
