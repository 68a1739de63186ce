// The paper's table as it is typed in, against the table as it was taken from the paper where that is there.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { paperRange, paperRows, paperTests } from './paper.ts'

const table = join(import.meta.dirname, '../../../../shared/papers/windcomm-table1.csv')
const skip = existsSync(table) ? false : 'the paper’s table is not beside this project'

test('every row is the paper’s', { skip }, () => {
  const [, ...lines] = readFileSync(table, 'utf8').trim().split('\n')
  const rows = lines.map((line) => {
    const [site = '', start, method, meanMs, sdMs, ratio] = line.split(',')
    const numbers = { meanMs: Number(meanMs), sdMs: Number(sdMs), ratio: Number(ratio) }
    return { site: site.toLowerCase(), start, method, ...numbers }
  })
  assert.deepEqual(paperRows, rows)
})

test('twelve tests of each method, and the ratios follow from the means to their rounding', () => {
  assert.equal(paperRows.length, 36)
  for (const { site, method, meanMs, ratio } of paperRows) {
    const [least = 0, most = 0] = paperRange(site, 'websocket', 'meanMs') ?? []
    assert.ok(ratio > meanMs / most - 0.006 && ratio < meanMs / least + 0.006, `${site} ${method} ${ratio}`)
  }
})

test('what the text says of Nagaoka: 3.6 to 4.2 times for long polling', () => {
  assert.deepEqual(paperRange('nagaoka', 'long-polling', 'ratio'), [3.59, 4.22])
  assert.deepEqual(paperRange('mobile', 'polling', 'ratio'), null)
  assert.equal(paperTests('lund', 'polling').length, 3)
})
