// Checks which channels a grant lets its client read and write.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Grant, grantFrom, openGrant, refuseReading, refuseWriting } from './grant.ts'
import { noon } from './testing.ts'

const writer = grantFrom({ channels: ['main', 'notes'], may: 'write' }, noon)
const reader = grantFrom({ channels: ['main'], may: 'read' }, noon)
const guide: Grant = { channels: 'all', may: 'read', expiresAt: noon }

test('what a grant covers may be read, and the wind with every grant', () => {
  for (const grant of [openGrant, guide, writer, reader]) {
    assert.equal(refuseReading(grant, ['main', 'wind']), null)
    assert.equal(refuseReading(grant, []), null)
  }
  assert.equal(refuseReading(guide, ['anything']), null)
})

test('a foreign channel among others is named', () => {
  const refusal = refuseReading(writer, ['main', 'wind', 'secret'])
  assert.deepEqual([refusal?.status, refusal?.code], [403, 'not-invited-there'])
  assert.match(refusal?.message ?? '', /"secret"/)
  assert.equal(refuseReading(writer, ['notes', 'secret', 'main'])?.code, 'not-invited-there')
})

test('who may read a page may read its overview, and nobody else', () => {
  for (const grant of [openGrant, guide, writer, reader]) {
    assert.equal(refuseReading(grant, ['main', 'wind', 'overview.main']), null)
  }
  assert.equal(refuseReading(writer, ['overview.notes']), null)
  assert.match(refuseReading(reader, ['main', 'overview.notes'])?.message ?? '', /"overview\.notes"/)
  // An invitation to a page of that name is none to what it would be about.
  const sly = grantFrom({ channels: ['overview.secret'], may: 'read' }, noon)
  assert.equal(refuseReading(sly, ['overview.secret'])?.code, 'not-invited-there')
})

test('a writer writes where it is invited', () => {
  assert.equal(refuseWriting(openGrant, 'anything'), null)
  assert.equal(refuseWriting(writer, 'notes'), null)
  const refusal = refuseWriting(writer, 'secret', 'w1-4')
  assert.deepEqual([refusal?.status, refusal?.code, refusal?.id], [403, 'not-invited-there', 'w1-4'])
  assert.match(refusal?.message ?? '', /"secret"/)
})

test('a reader writes nowhere', () => {
  for (const grant of [reader, guide]) {
    const refusal = refuseWriting(grant, 'main', 'w1-4')
    assert.deepEqual([refusal?.status, refusal?.code, refusal?.id], [403, 'read-only-invitation', 'w1-4'])
  }
})

test('to read the wind is not to write it', () => {
  assert.equal(refuseWriting(writer, 'wind')?.code, 'not-invited-there')
})
