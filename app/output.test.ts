// Lines of the page's server, and of the library, in the documentation.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { outputLevels } from '../server/output.ts'
import { pageLevels } from './output.ts'

test('docs/operating.md lists exactly the existing codes with their levels', () => {
  const page = readFileSync(join(import.meta.dirname, '../docs/operating.md'), 'utf8')
  const listed = page.matchAll(/^\| `([a-z\d-]+)` \| (info|warn|error|fatal) \|/gm)
  assert.deepEqual(Object.fromEntries(Array.from(listed, ([, code, level]) => [code, level])), {
    ...outputLevels,
    ...pageLevels,
  })
})
