// The options of the log in PostgreSQL, and its notes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PostgresOptions, postgres } from './index.ts'
import { partsOf, readParts } from './notes.ts'

test('options that do not fit are named, with their value and without the password', () => {
  const connectionString = 'postgres://ada:secret@db1.example:5433/app'
  for (const [options, sentence] of [
    [
      { connectionString: '' },
      'postgres: connectionString is ""; it must be like postgres://user@db1.example:5432/app.',
    ],
    [{ connectionString: [] }, /connectionString is undefined; it must be/],
    [{ connectionString: 'mysql://ada:secret@db1' }, /connectionString is "mysql:\/\/ada:…@db1"; it must be/],
    [
      { connectionString: [connectionString, 'db2.example'] },
      /connectionString is "db2\.example"; it must be/,
    ],
    [{ connectionString, schema: 'a"b' }, /schema is "a\\"b"; it must be up to 40 small letters/],
    [{ connectionString, scheme: 'a' }, /postgres has no scheme; did you mean schema\?/],
  ] as const)
    assert.throws(() => postgres(options as PostgresOptions), { message: sentence })
  assert.equal(
    postgres({ connectionString: [connectionString, 'postgresql://db2.example/app'] }).place,
    'PostgreSQL at db1.example:5433, db2.example',
  )
})

test('notes are joined from parts that NOTIFY accepts, each sender’s by themselves', () => {
  const notes = ['{}', JSON.stringify({ long: '"wïnd 🌬'.repeat(3000) }), '{}']
  const parts = partsOf(notes)
  assert.ok(parts.every((part) => Buffer.byteLength(part) < 8000))
  assert.equal(new Set(parts).size, parts.length)
  const got: unknown[] = []
  const read = readParts((note) => got.push(JSON.parse(note)))
  for (const part of parts) for (const sender of [1, 2]) read(sender, part)
  assert.deepEqual(
    got,
    notes.flatMap((note) => [JSON.parse(note), JSON.parse(note)]),
  )
})
