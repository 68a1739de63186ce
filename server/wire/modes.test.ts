import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modeFor, modeNamed, modes, transportNames } from './modes.ts'

test('each row is named by its transport and version, and no name stands twice', () => {
  for (const { name, transport, http } of modes) assert.equal(name, `${transport}/${http}`)
  assert.equal(new Set(modes.map(({ name }) => name)).size, modes.length)
  for (const transport of transportNames) assert.ok(modes.some((mode) => mode.transport === transport))
})

test('the fallback leads down from everywhere, to rows that are there, without a circle', () => {
  for (const start of modes) {
    const seen = new Set<string>()
    for (let name: string | null = start.name; name !== null; name = modeNamed(name)?.fallback ?? null) {
      assert.ok(modeNamed(name), `${name} is no row`)
      assert.ok(!seen.has(name), `${start.name} leads to ${name} twice`)
      seen.add(name)
    }
    assert.ok(seen.has('polling/1.1'), `${start.name} does not lead to the foot`)
  }
})

test('where a browser has room for only so many windows, the same transport has a mode with room for all', () => {
  for (const { name, transport, windowsPerBrowser, whenFull } of modes) {
    const roomy = whenFull === null ? undefined : modeNamed(whenFull)
    assert.equal(whenFull === null, windowsPerBrowser === null, name)
    if (whenFull !== null)
      assert.deepEqual([roomy?.transport, roomy?.windowsPerBrowser], [transport, null], name)
  }
})

test('a transport that does not exist over a version is taken over the one it has', () => {
  assert.equal(modeFor('sse', '1.1')?.name, 'sse/1.1')
  assert.equal(modeFor('streaming', '1.1')?.name, 'streaming/2')
  assert.equal(modeFor('telex', '2'), undefined)
})
