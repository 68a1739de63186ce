// Checks that no regular expression takes more than linear time on a hostile text (ReDoS).

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { test } from 'node:test'
import { checkSync } from 'recheck'
import { parseAst } from 'vite'

interface Expression {
  readonly pattern: string
  readonly flags: string
}

const root = join(import.meta.dirname, '..')
const isLeftOut = (path: string) =>
  // These only see texts of a sensor, of the server's operator, and of the build.
  /^(sensor|server\/config|app\/config|app\/sensor-command)\b|^web\/(dist\/|vite\.config)|\.d\.ts$|\.test\.ts$|testing\.ts$|-contract\.ts$/.test(
    path,
  )
const paths = globSync('{protocol,server,sensor,app,web}/**/*.{ts,tsx}', { cwd: root })
  .map((path) => path.split(sep).join('/'))
  .filter((path) => !isLeftOut(path))

/**
 * Expressions that are composed, which the test cannot read, with the reason why they are linear.
 */
const composed: Readonly<Record<string, string>> = {
  'app/access.ts': 'the only repetition, of spaces, is followed by something else',
  'app/shared/page-messages.ts': 'one class without repetition',
  'protocol/messages.ts': 'anchored, one class of at most 64 bytes, or of a fixed number',
}

/** Expressions for which the checker takes too long, with the reason why they are harmless. */
const unchecked: ReadonlyMap<string, string> = new Map([
  ['/<link rel="(?:module)?preload"[^>]* data-views="([^"]*)">\\s*/g', 'reads the page that the build made'],
])

const found = new Map<string, Expression>()
const composing = new Set<string>()
for (const path of paths) {
  const text = readFileSync(join(root, path), 'utf8')
  visit(parseAst(text, { lang: path.endsWith('x') ? 'tsx' : 'ts' }), path)
}

function visit(node: unknown, path: string): void {
  if (typeof node !== 'object' || node === null) return
  const { type, regex, callee } = node as { type?: string; regex?: Expression; callee?: { name?: string } }
  if (type === 'Literal' && regex) found.set(`/${regex.pattern}/${regex.flags}`, regex)
  if (callee?.name === 'RegExp') composing.add(path)
  for (const inner of Object.values(node)) visit(inner, path)
}

test('each expression that may see a client’s text takes linear time', () => {
  assert.ok(found.size > 100)
  const failing = [...found].flatMap(([expression, { pattern, flags }]) => {
    if (unchecked.has(expression)) return []
    const { status } = checkSync(pattern, flags, { checker: 'automaton', timeout: 60_000 })
    return status === 'safe' ? [] : [`${expression}: ${status}`]
  })
  assert.deepEqual(failing, [])
  for (const expression of unchecked.keys()) assert.ok(found.has(expression), expression)
})

test('there are few composed expressions, all of them reviewed', () => {
  assert.deepEqual([...composing].toSorted(), Object.keys(composed).toSorted())
})
