// The timers of this process.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { endsWithin, processTimers } from './process.ts'
import { createManualTime } from './wire/testing.ts'

test('what is overdue runs at once, and Node has nothing to warn of', async () => {
  const warnings: string[] = []
  const note = ({ name }: Error) => void warnings.push(name)
  process.on('warning', note)
  const { promise, resolve } = Promise.withResolvers<void>()
  processTimers.later(resolve, -250)
  await promise
  // Warnings are told in order: once this one has come, any other has.
  const told = once(process, 'warning')
  process.emitWarning('the last', 'LastWarning')
  await told
  process.off('warning', note)
  assert.deepEqual(warnings, ['LastWarning'])
})

test('what does not end is not waited for past its time', async () => {
  const time = createManualTime()
  const never = endsWithin(new Promise(() => undefined), 500, time)
  time.advance(500)
  assert.equal(await never, false)
  assert.equal(await endsWithin(Promise.resolve(), 500, time), true)
  await assert.rejects(endsWithin(Promise.reject(new Error('no')), 500, time), /no/)
})
