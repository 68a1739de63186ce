import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinVersions, maxNamedVersions, pageOfOverview } from './page-messages.ts'

test('an overview’s channel names its page', () => {
  assert.equal(pageOfOverview('overview.main'), 'main')
  for (const other of ['main', 'overview', 'wind', 'main.overview.', 'my-overview.main']) {
    assert.equal(pageOfOverview(other), null)
  }
})

test('the newest name of each version counts, even if repeated, and the newest names are kept', () => {
  const named = (...versions: [at: number, name: string][]) => ({
    versions: versions.map(([at, name]) => ({ at, name })),
  })
  const first = named([1, 'Draft'], [2, 'Review'])
  const second = named([1, ''], [3, 'Print'])
  const joined = named([2, 'Review'], [1, ''], [3, 'Print'])
  assert.deepEqual(joinVersions([first, second]), joined)
  assert.deepEqual(joinVersions([joinVersions([first, second]), second]), joined)
  assert.deepEqual(joinVersions([]), { versions: [] })
  const many = Array.from({ length: maxNamedVersions + 1 }, (_, at) => named([at, 'x']))
  assert.deepEqual(
    joinVersions(many).versions.map(({ at }) => at),
    many.slice(1).map((_, place) => place + 1),
  )
})
