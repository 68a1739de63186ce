// Work in turns.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settled } from '../hub/testing.ts'
import { createManualTime } from '../wire/manual-time.ts'
import { inTurns } from './turns.ts'

test('works for a few ms, lets others go on, and works on', async () => {
  const time = createManualTime()
  let done = 0
  function* work(): Generator<void, string> {
    for (; done < 10; done += 1) {
      time.stall(1)
      yield
    }
    return 'all'
  }
  const result = inTurns(work(), time)
  assert.ok(done > 0 && done < 5, `${done}`)
  const before = done
  time.advance(0)
  await settled()
  assert.ok(done > before && done < 9, `${done}`)
  while (time.pending() > 0) {
    time.advance(0)
    await settled()
  }
  assert.equal(await result, 'all')
})

test('work that is quick is done at once, work that throws rejects', async () => {
  const time = createManualTime()
  const quick: Iterator<void, number> = { next: () => ({ done: true, value: 1 }) }
  assert.equal(await inTurns(quick, time), 1)
  const broken: Iterator<void, number> = {
    next() {
      throw new Error('broken')
    },
  }
  await assert.rejects(inTurns(broken, time), /broken/)
})
