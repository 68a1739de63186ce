// The command as a user runs it, with the bench that needs neither server nor browser.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { startLab } from './lab/testing.ts'

const names = [
  'capacity',
  'conditions',
  'keystrokes',
  'outages',
  'payload',
  'pubsub',
  'resilience',
  'windcomm',
  'windows',
  'fanout',
  'message',
  'scaling',
  'frames',
  'transfer',
  'stages',
  'editor',
  'opening',
]
const few = ['--frames', '50', '--rounds', '1']

async function end(t: TestContext, name: string, ...flags: string[]) {
  const run = startLab(t, name, ...flags)
  const [code] = await run.ended
  return { code, said: run.said() }
}

test('the help names every scenario and bench, and each has its own help', async (t) => {
  const { code, said } = await end(t, '--help')
  assert.equal(code, 0)
  for (const name of names) assert.match(said, new RegExp(`^ {4}${name} `, 'm'))
  const helps = await Promise.all(names.map((name) => end(t, name, '--help')))
  for (const [index, name] of names.entries())
    assert.match(
      helps[index]?.said ?? '',
      new RegExp(`^npm run lab -- ${name} \\[flags\\]\\n[\\s\\S]*--budget`),
    )
})

for (const [flags, sentence] of [
  ['keystroke', /There is no scenario "keystroke"; did you mean keystrokes\?/],
  ['keystrokes --wibble', /There is no flag --wibble/],
  ['frames --frames 0', /--frames is "0"/],
  ['frames --budget none.json', /--budget names none\.json, which cannot be read \(ENOENT\)/],
  ['frames --budget', /--budget/],
  ['editor --editors vi', /--editors is "vi": there are shared, mirror/],
  ['opening --edits 0', /--edits is "0"/],
  ['doctor --url http://x', /--url is "http:\/\/x": must be an https address/],
  ['conformance --server http://x', /--server is "http:\/\/x": must be an https address/],
  ['report --compare x', /Two folders are needed: npm run report -- --compare A B/],
] as const)
  test(`${flags}: one sentence, and nothing is started`, async (t) => {
    const [name = '', ...rest] = flags.split(' ')
    const { code, said } = await end(t, name, ...rest)
    assert.equal(code, 1)
    assert.match(said, sentence)
    assert.equal(said.trim().split('\n').length, 1, said)
  })

test('figures are written to a file, and those out of bounds set the exit status', async (t) => {
  const folder = temporaryFolder(t)
  const json = join(folder, 'figures.json')
  const budget = join(folder, 'budget.json')
  const { code, said } = await end(t, 'frames', ...few, '--json', json)
  assert.equal(code, 0, said)
  const { scenario, command, rows } = JSON.parse(await readFile(json, 'utf8'))
  assert.deepEqual([scenario, rows.length], ['frames', 8])
  // Without the folder, which is no part of the measurement.
  assert.equal(command, 'npm run lab -- frames --frames 50 --rounds 1')
  await writeFile(budget, '{"rows":{"*":{"read":1}}}')
  assert.equal((await end(t, 'frames', ...few, '--budget', budget)).code, 2)
})
