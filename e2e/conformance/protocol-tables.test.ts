// PROTOCOL.md cannot fall behind: what the server says and answers stands in it.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { byeCodes, type DownFrame } from '../../server/wire/frames.ts'
import type { OverviewBody, WindOverview } from '../../server/wire/overview.ts'
import { protocol, root, rowsOf } from './protocol-text.ts'

const sources = globSync('server/**/*.ts', { cwd: root })
  .filter((path) => !/(\.test|testing|-contract)\.ts$/.test(path))
  .map((path) => readFileSync(join(root, path), 'utf8'))
  .join('\n')

/** In order, each once. */
const sorted = (texts: Iterable<string>) => [...new Set(texts)].sort()

describe('what the server says', () => {
  test('every refusal is in the table with its status, and no other', () => {
    const made = [...sources.matchAll(/new Refusal\(\s*(\w+),\s*'([a-z-]+)'/g)]
    assert.equal(made.length, sources.split('new Refusal(').length - 1, 'a refusal whose code cannot be read')
    // One passes the status of a 4xx on: its code stands under 400.
    const known = made.map(([, status, code]) => `${status === 'status' ? 400 : status} ${code}`)
    const listed = rowsOf('What is refused').flatMap(([status = '', codes = '']) =>
      /^\d{3}$/.test(status) ? codes.split(' ').map((code) => `${status} ${code}`) : [],
    )
    assert.deepEqual(sorted(listed), sorted(known))
  })

  test('every farewell is in the table with its closing code, and no other', () => {
    const rows = rowsOf('Frames').filter(([, close = '']) => /^\d{4}$/.test(close))
    assert.deepEqual(Object.fromEntries(rows.map(([code, close]) => [code, Number(close)])), byeCodes)
  })

  test('every frame is in the table', () => {
    const types: Record<DownFrame['type'], true> = {
      welcome: true,
      message: true,
      presence: true,
      heartbeat: true,
      stored: true,
      refused: true,
      bye: true,
      clock: true,
    }
    const listed = new Set(rowsOf('Frames').map(([type]) => type))
    assert.deepEqual(
      Object.keys(types).filter((type) => !listed.has(type)),
      [],
    )
  })

  test('every field of an overview is in the table, and no other', () => {
    const fields: Record<keyof OverviewBody | keyof WindOverview, true> = {
      words: true,
      characters: true,
      editsLastMinute: true,
      editsEachSecond: true,
      edits: true,
      countedSince: true,
      wind: true,
      source: true,
      state: true,
      status: true,
      readingAt: true,
      trouble: true,
      meanMetresPerSecond: true,
      meanDirectionDegrees: true,
      meanCoversSeconds: true,
      gustMetresPerSecond: true,
      gustCoversSeconds: true,
    }
    const listed = rowsOf('Overviews').flatMap(([names = '']) => names.split(' '))
    assert.deepEqual(sorted(listed.filter((name) => !/^(field|-+)$/.test(name))), sorted(Object.keys(fields)))
  })

  test('every path is named', () => {
    const paths = sorted(
      Array.from(sources.matchAll(/'(\/(?:api\/[a-z-]+|healthz|join))'/g), ([, path = '']) => path),
    )
    assert.ok(paths.length > 10)
    assert.deepEqual(
      paths.filter((path) => !new RegExp(`${path}(?![\\w/-])`).test(protocol)),
      [],
    )
  })
})
