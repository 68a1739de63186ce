// How a command line is parsed, and the sentence for each possible error.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'

import { flag, flagsHelp, names, numbers, readFlags, seed, whole, wordsOnce } from './flags.ts'

const schema = z
  .strictObject({
    sites: wordsOnce.default(['lund']),
    keys: whole(1, 9).default(4),
    blocks: whole(1, 9).default(2),
    remote: z.array(z.url('must be an address')).default([]),
    headed: z.boolean().default(false),
  })
  .refine(({ keys, blocks }) => keys >= blocks, 'keys must be at least as many as blocks')

const read = (...argv: readonly string[]) => readFlags(schema, argv)

test("omitted flags have the schema's defaults", () => {
  const given = { sites: ['lund'], keys: 4, blocks: 2, remote: [], headed: false }
  assert.deepEqual(read(), given)
})

test('texts, switches, and a repeatable flag', () => {
  const flags = ['--keys', '7', '--headed', '--help', '--remote', 'http://a', '--remote=http://b']
  const { keys, headed, remote } = read(...flags)
  assert.deepEqual([keys, headed, remote], [7, true, ['http://a', 'http://b']])
})

test('a list has each word once', () => {
  assert.deepEqual(read('--sites', ' lund, mobile,,lund').sites, ['lund', 'mobile'])
})

test('a seed is random unless given', () => {
  assert.notEqual(seed.parse(undefined), seed.parse(undefined))
  assert.equal(seed.parse('2012'), 2012)
})

test('a list of numbers is sorted, and has each number and name once', () => {
  assert.deepEqual(numbers('10,2', 1, 10).parse(undefined), [2, 10])
  assert.throws(() => numbers('1', 1, 10).parse('1,11'), /must be whole numbers from 1 to 10/)
  assert.deepEqual(names(['ws', 'bare']).parse('bare,ws,bare'), ['bare', 'ws'])
  assert.throws(() => names(['ws', 'bare']).parse('vi'), /there are ws, bare/)
})

test('the help has each flag with its value, meaning and default, in lines of 100 characters', () => {
  const help = flagsHelp({
    sites: flag(wordsOnce.default(['lund', 'lan']), 'LIST', 'networks'),
    keys: flag(whole(1, 9).default(4), 'N', `keys, ${'each of which is counted, '.repeat(5)}so it is`),
    browser: flag(z.string().optional(), 'S', 'where it runs', 'anywhere'),
    headed: flag(z.boolean().default(false), '', 'shows the windows'),
  })
  assert.match(help, /^ {2}--sites LIST +networks \(lund,lan\)\n {2}--keys N +keys, each/)
  assert.match(
    help,
    /so it is \(4\)\n {2}--browser S +where it runs \(anywhere\)\n {2}--headed +shows the windows$/,
  )
  assert.ok(help.split('\n').every((line) => line.length <= 100))
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
