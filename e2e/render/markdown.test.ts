// report.md and summary.json: structure, escaping, and the same contents as the page.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyse, type Summary } from '../lab/stats/analysis.ts'
import { madeRun, withPeers } from '../lab/stats/made-run.ts'
import { json } from './json.ts'
import { markdown } from './markdown.ts'

const run = madeRun({ keys: 20, blocks: 2, windows: 3, behaviours: withPeers })
const summary = analyse(run)

test('the finding comes right after the title', () => {
  const lines = markdown(run, summary).split('\n')
  assert.equal(lines[0], '# Crosswind lab: keystrokes')
  assert.equal(lines[2], `**${summary.finding}**`)
})

test('every row of a table has as many cells as its header', () => {
  const tables = markdown(run, summary)
    .split('\n\n')
    .filter((block) => block.startsWith('| '))
  assert.ok(tables.length >= 8)
  for (const table of tables) {
    const widths = new Set(
      table
        .trim()
        .split('\n')
        .map((line) => line.split(/(?<!\\)\|/).length),
    )
    assert.equal(widths.size, 1, table)
  }
})

test('hostile text breaks no table and makes no markup', () => {
  const evil = 'a | b\n# <script>x</script> ```'
  const hostile = { ...run, command: evil, environment: { ...run.environment, browser: evil } }
  const text = markdown(hostile, analyse(hostile))
  assert.ok(text.includes('| Browser | a \\| b \\# &lt;script&gt;x&lt;/script&gt; \\`\\`\\` |'))
  assert.ok(text.includes(`\`\`\`\`sh\n${evil}\n\`\`\`\``))
})

test('the paper stands beside the run, with its ratios to WebSocket', () => {
  const text = markdown(run, summary)
  assert.match(text, /\| SSE \+ XHR, HTTP\/1\.1 \| [\d.]+ \| [\d.]+ \| 198\.45 \| 2\.25 \|/)
  assert.match(text, /\| SSE \+ XHR, HTTP\/2 \| [\d.]+ \| [\d.]+ \| 79\.889 \| 0\.91 \|/)
})

test('the command, the raw samples and the unit of comparison are named', () => {
  const text = markdown(run, summary)
  assert.ok(text.includes(run.command))
  assert.ok(text.includes('samples.csv'))
  assert.ok(text.includes('The unit is the message, not the sample'))
})

test('summary.json holds the summary, and nothing of it is lost', () => {
  const parsed: Summary = JSON.parse(json(summary))
  assert.deepEqual(parsed, summary)
  assert.ok(json(summary).endsWith('}\n'))
})
