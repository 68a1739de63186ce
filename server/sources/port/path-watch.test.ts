// Checks what counts as another device under the same path.

import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { identifyDevice } from './path-watch.ts'

function pathsFor(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-device-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return { device: join(folder, 'ttyUSB0'), other: join(folder, 'ttyUSB1'), link: join(folder, 'by-id') }
}

test('a device whose mode was changed is the same, also by a link to it', (t) => {
  const { device, link } = pathsFor(t)
  writeFileSync(device, '', { mode: 0o600 })
  symlinkSync(device, link)
  const before = identifyDevice(device)
  chmodSync(device, 0o666)
  assert.notEqual(before, null)
  assert.equal(identifyDevice(device), before)
  assert.equal(identifyDevice(link), before)
})

test('another in its place is another, and none is none', (t) => {
  const { device, other } = pathsFor(t)
  writeFileSync(device, '')
  writeFileSync(other, '')
  const before = identifyDevice(device)
  renameSync(other, device)
  assert.notEqual(identifyDevice(device), before)
  rmSync(device)
  assert.equal(identifyDevice(device), null)
})
