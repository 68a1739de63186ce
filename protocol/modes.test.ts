import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modeFor, modeNamed, modes, transportNames } from './modes.ts'

test('each row is named by its transport and version, and all names differ', () => {
  for (const { name, transport, http } of modes) assert.equal(name, `${transport}/${http}`)
  assert.equal(new Set(modes.map(({ name }) => name)).size, modes.length)
  for (const transport of transportNames) assert.ok(modes.some((mode) => mode.transport === transport))
})

test('fallbacks lead from every mode to existing rows and end without a cycle', () => {
  for (const start of modes) {
    const seen = new Set<string>()
    for (let name: string | null = start.name; name !== null; name = modeNamed(name)?.fallback ?? null) {
      assert.ok(modeNamed(name), `${name} is no row`)
      assert.ok(!seen.has(name), `${start.name} leads to ${name} twice`)
      seen.add(name)
    }
    assert.ok(seen.has('polling/1.1'), `${start.name} does not lead to the last row`)
  }
})

test('if a mode limits the windows of a browser, the same transport has a mode without a limit', () => {
  for (const { name, transport, windowsPerBrowser, whenFull } of modes) {
    const roomy = whenFull === null ? undefined : modeNamed(whenFull)
    assert.equal(whenFull === null, windowsPerBrowser === null, name)
    if (whenFull !== null)
      assert.deepEqual([roomy?.transport, roomy?.windowsPerBrowser], [transport, null], name)
  }
})

test('a transport that does not exist over a version uses the version it has', () => {
  assert.equal(modeFor('sse', '1.1')?.name, 'sse/1.1')
  assert.equal(modeFor('streaming', '1.1')?.name, 'streaming/2')
  assert.equal(modeFor('telex', '2'), undefined)
})
