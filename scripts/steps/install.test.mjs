// Checks when the packages count as installed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isComplete, majorOf } from './install.mjs'

const wanted = {
  '': { version: '0.1.0' },
  'node_modules/koa': { version: '3.3.0', integrity: 'sha512-koa' },
  'node_modules/other-system': { version: '1.0.0', integrity: 'sha512-other', optional: true },
}
const koa = wanted['node_modules/koa']

test('packages are complete without the optional ones of other systems', () => {
  assert.equal(isComplete(wanted, { 'node_modules/koa': koa }), true)
})

test('packages are not complete when one is missing or of another version', () => {
  assert.equal(isComplete(wanted, {}), false)
  assert.equal(isComplete(wanted, { 'node_modules/koa': { ...koa, version: '3.2.0' } }), false)
  assert.equal(isComplete(wanted, { 'node_modules/koa': { ...koa, integrity: 'sha512-else' } }), false)
})

test('the major version is the first number', () => {
  assert.equal(majorOf('^26.10.0'), 26)
  assert.equal(majorOf('v20.1.2'), 20)
  assert.ok(Number.isNaN(majorOf('')))
})
