import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTo, refusalOf } from '../hub/testing.ts'
import { openGrant } from '../security/grant.ts'
import { admitBeat } from './beat.ts'

test('says how many windows it speaks for, or nothing', () => {
  assert.equal(admitBeat({ type: 'heartbeat' }, openGrant), undefined)
  assert.deepEqual(admitBeat({ windows: { main: 3, other: 0 } }, openGrant), { main: 3, other: 0 })
})

const channels = (count: number) => Object.fromEntries(countTo(count).map((n) => [`c${n}`, 1]))

test('what does not fit is refused', async () => {
  assert.ok(admitBeat({ windows: channels(1000) }, openGrant))
  const misfits = [
    null,
    'text',
    { windows: 3 },
    { windows: null },
    { windows: { main: '3' } },
    { windows: { main: 1.5 } },
    { windows: { main: -1 } },
    { windows: { main: 100_001 } },
    { windows: { ['x'.repeat(65)]: 1 } },
    { windows: channels(1001) },
  ]
  for (const given of misfits) {
    const { status, code } = await refusalOf(() => admitBeat(given, openGrant))
    assert.deepEqual([status, code], [400, 'bad-shape'])
  }
})

test('a window speaks for no channel that it is not invited to', async () => {
  const grant = { ...openGrant, channels: new Set(['main']) }
  assert.deepEqual(admitBeat({ windows: { main: 2 } }, grant), { main: 2 })
  const { status, code } = await refusalOf(() => admitBeat({ windows: { main: 2, other: 1 } }, grant))
  assert.deepEqual([status, code], [403, 'not-invited-there'])
})
