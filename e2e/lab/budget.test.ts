// A run's figures against bounds: met, broken and invalid ones.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { type Budget, brokenBounds, readBudget } from './budget.ts'

const folder = temporaryFolder()

async function budgetOf(content: unknown): Promise<Budget> {
  const file = join(folder, 'budget.json')
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  return readBudget(file)
}

const summary = {
  finding: 'x',
  growing: [],
  figures: [
    { mode: 'sse/2', p95: 14, lost: 0, n: 5000, sessions: [1, 2] },
    { mode: 'websocket/1.1', p95: 10.4, lost: 2, n: 4998, sessions: [1, 2] },
  ],
  comparisons: [{ mode: 'sse/2', difference: 3.6, p: null }],
}

test('a run within its bounds breaks none', async () => {
  const budget = await budgetOf({
    figures: { 'sse/2': { p95: 14, lost: 0 }, '*': { n: { least: 4998 } } },
    comparisons: { 'sse/2': { difference: { least: 3, most: 4 } } },
  })
  assert.deepEqual(brokenBounds(budget, summary), [])
})

test('names each figure beyond a bound, with the bound', async () => {
  const budget = await budgetOf({ figures: { '*': { lost: 0, p95: 12 }, 'sse/2': { n: { least: 6000 } } } })
  assert.deepEqual(brokenBounds(budget, summary), [
    'sse/2: p95 is 14, at most 12 allowed',
    'websocket/1.1: lost is 2, at most 0 allowed',
    'sse/2: n is 5000, at least 6000 required',
  ])
})

test('a figure that was not measured breaks its bound', async () => {
  const budget = await budgetOf({ comparisons: { '*': { p: 0.05 } } })
  assert.deepEqual(brokenBounds(budget, summary), ['sse/2: p was not measured, and has a bound'])
})

test('rejects a bound on a figure the run lacks, and lists those it has', async () => {
  for (const [content, words] of [
    [
      { mode: { 'sse/2': { lost: 0 } } },
      /bounds mode, which this run does not have; it has figures, comparisons\./,
    ],
    [{ figures: { 'sse/3': { lost: 0 } } }, /bounds figures → sse\/3, .* it has sse\/2, websocket\/1\.1\./],
    [{ figures: { '*': { p90: 1 } } }, /bounds figures → \* → p90, .* it has p95, lost, n\./],
  ] as const) {
    const budget = await budgetOf(content)
    assert.throws(() => brokenBounds(budget, summary), words)
  }
})

test('rejects an invalid budget, naming the place', async () => {
  await assert.rejects(readBudget(join(folder, 'none.json')), /none\.json, which cannot be read \(ENOENT\)/)
  await assert.rejects(budgetOf('{'), /is not JSON/)
  await assert.rejects(
    budgetOf({ figures: { 'sse/2': { p95: 'low' } } }),
    /wrong at figures → sse\/2 → p95: a bound is a number, or an object/,
  )
  await assert.rejects(
    budgetOf({ figures: { 'sse/2': { p95: {} } } }),
    /a bound is a number, or an object with least, most or both/,
  )
  await assert.rejects(budgetOf({}), /bounds nothing/)
})

test("the documentation's example bounds figures that a run has", async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/measuring.md'), 'utf8')
  const example = /```json\n(\{\n {2}"figures"[\s\S]*?)```/.exec(page)?.[1] ?? ''
  const reference = join(import.meta.dirname, '../../reports/reference-keystrokes/summary.json')
  assert.deepEqual(brokenBounds(await budgetOf(example), JSON.parse(await readFile(reference, 'utf8'))), [])
})
