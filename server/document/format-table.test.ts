// Holds docs/documents.md to what the readers and writers do.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { formatTable } from './format-table.ts'

test('docs/documents.md holds the tables as they are', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/documents.md'), 'utf8')
  assert.ok(
    page.includes(formatTable().trim()),
    'paste anew: node_modules/.bin/node server/document/format-table.ts',
  )
})

test('HTML keeps everything', () => {
  const [, , ...rows] = formatTable().split('\n\n')[0]?.trim().split('\n') ?? []
  assert.ok(rows.length > 0)
  for (const row of rows) assert.equal(row.split(' | ')[1], 'kept', row)
})
