import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageGrantRules } from './page-channels.ts'
import { grantFrom, openGrant, type Permission, refuseReading, refuseWriting } from './security/grants.ts'

const grantOf = (permission: Permission) => grantFrom(permission, 0, 0, pageGrantRules)
const writer = grantOf({ channels: ['main', 'notes'], may: 'write' })
const reader = grantOf({ channels: ['main'], may: 'read' })
const guide = grantOf({ channels: 'all', may: 'read' })
const grants = [openGrant, guide, writer, reader]

test('every grant allows reading the wind, and none writing it', () => {
  for (const grant of grants) assert.equal(refuseReading(grant, ['main', 'wind']), null)
  assert.equal(refuseWriting(writer, 'wind')?.code, 'not-invited-there')
})

test('an overview is readable exactly by readers of its page', () => {
  for (const grant of grants) assert.equal(refuseReading(grant, ['main', 'wind', 'overview.main']), null)
  assert.equal(refuseReading(writer, ['overview.notes']), null)
  assert.match(refuseReading(reader, ['main', 'overview.notes'])?.message ?? '', /"overview\.notes"/)
  // An invitation to a page with such a name does not cover the page that the overview would be
  // about.
  const sly = grantOf({ channels: ['overview.secret'], may: 'read' })
  assert.equal(refuseReading(sly, ['overview.secret'])?.code, 'not-invited-there')
})

test('every grant allows reading and writing probes, but not an overview of probes', () => {
  for (const grant of grants) {
    assert.equal(refuseReading(grant, ['probes']), null)
    assert.equal(refuseWriting(grant, 'probes', 'w1-4'), null)
  }
  assert.equal(refuseReading(reader, ['overview.probes'])?.code, 'not-invited-there')
})
