// What is read of a command line, and the sentence for each thing that can be wrong with it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'

import { readFlags, seed, whole, wordsOnce } from './flags.ts'

const schema = z
  .strictObject({
    sites: wordsOnce.default(['lund']),
    keys: whole(1, 9).default(4),
    blocks: whole(1, 9).default(2),
    remote: z.array(z.url('must be an address')).default([]),
    headed: z.boolean().default(false),
    help: z.boolean().default(false),
  })
  .refine(({ keys, blocks }) => keys >= blocks, 'keys must be at least as many as blocks')

const read = (...argv: readonly string[]) =>
  readFlags(schema, argv, { remote: { type: 'string', multiple: true }, headed: { type: 'boolean' } })

test('what is not given is as the schema has it', () => {
  const given = { sites: ['lund'], keys: 4, blocks: 2, remote: [], headed: false, help: false }
  assert.deepEqual(read(), given)
})

test('texts, switches, and a flag that may come again', () => {
  const flags = ['--keys', '7', '--headed', '--help', '--remote', 'http://a', '--remote=http://b']
  const { keys, headed, help, remote } = read(...flags)
  assert.deepEqual([keys, headed, help, remote], [7, true, true, ['http://a', 'http://b']])
})

test('a list has each word once', () => {
  assert.deepEqual(read('--sites', ' lund, mobile,,lund').sites, ['lund', 'mobile'])
})

test('a seed is drawn anew unless one is given', () => {
  assert.notEqual(seed.parse(undefined), seed.parse(undefined))
  assert.equal(seed.parse('2012'), 2012)
})

for (const [flags, sentence] of [
  [['--keys', 'many'], /^Error: --keys is "many": .+\.$/],
  [['--keys', '10'], /^Error: --keys is "10": .*9\.$/],
  [['--remote', 'x'], /^Error: --remote is \["x"\]: must be an address\.$/],
  [['--keys', '1'], /^Error: keys must be at least as many as blocks\.$/],
  [['--wibble', '1'], /^Error: There is no flag --wibble; --help lists them\.$/],
  [['--bloks=1'], /^Error: There is no flag --bloks; did you mean --blocks\?$/],
  [['lund'], /Unexpected argument 'lund'/],
] as const) {
  test(`${flags.join(' ')}: one sentence`, () => {
    assert.throws(() => read(...flags), sentence)
  })
}
