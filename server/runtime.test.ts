import assert from 'node:assert/strict'
import { test } from 'node:test'
import manifest from './package.json' with { type: 'json' }
import { requireNode } from './runtime.ts'

test('takes each line of Node from the version that the package names, and none before', () => {
  const lowest = Array.from(manifest.engines.node.matchAll(/(\d+)\.(\d+)\.0/g), ([, major, minor]) =>
    [major, minor].map(Number),
  )
  assert.equal(lowest.length, 2)
  for (const [major = 0, minor = 0] of lowest) {
    requireNode({ node: `${major}.${minor}.0` })
    requireNode({ node: `${major}.${minor + 1}.0` })
    const older = minor === 0 ? `${major - 1}.99.0` : `${major}.${minor - 1}.0`
    assert.throws(() => requireNode({ node: older }), { message: new RegExp(`This is Node ${older}\\.$`) })
  }
  requireNode({ node: '30.0.0' })
})

test('names the runtime that imitates Node, and what is needed', () => {
  const needed = '@crosswind/server needs Node 24 or later, or Node 22 from 22.19 on.'
  assert.throws(() => requireNode({ node: '24.3.0', bun: '1.4.5' }), {
    message: `${needed} This is Bun 1.4.5.`,
  })
  assert.throws(() => requireNode({ node: '24.3.0', deno: '2.9.6' }), {
    message: `${needed} This is Deno 2.9.6.`,
  })
})
