import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from './child-process.mjs'
import { cites, lacking, sectionsOf, versionedFiles, versionsIn, withVersion } from './release.mjs'

const read = (path) => readFileSync(join(root, path), 'utf8')

test('every file that names a version of our packages names that of package.json', () => {
  const { version } = JSON.parse(read('package.json'))
  const named = versionedFiles().map((path) => [path, versionsIn(read(path))])
  const manifests = ['package.json', 'client/package.json', 'server/package.json', 'e2e/package.json']
  for (const [path, versions] of named) if (manifests.includes(path)) assert.equal(versions.length, 1, path)
  const differing = named.filter(([, versions]) => versions.some((one) => one !== version))
  assert.deepEqual(differing, [], `npm run release -- ${version} writes it everywhere`)
})

test('CITATION.cff cites the newest release in the changelog', () => {
  const released = sectionsOf(read('CHANGELOG.md')).find(({ date }) => date !== undefined)
  assert.ok(cites(read('CITATION.cff'), released), `CITATION.cff does not cite ${released.name}.`)
})

test('a version is replaced where our packages have it, and nowhere else', () => {
  const manifest = `{
  "name": "@crosswind/server",
  "version": "0.3.0",
  "dependencies": { "@crosswind/client": "0.3.0", "koa": "0.3.0" }
}`
  assert.equal(withVersion(manifest, '1.0.0-rc.1').replaceAll('1.0.0-rc.1', '0.3.0'), manifest)
  assert.deepEqual(versionsIn(withVersion(manifest, '1.0.0-rc.1')), ['1.0.0-rc.1', '1.0.0-rc.1'])
  assert.equal(withVersion('dist/crosswind-lab-0.3.0.tgz', '1.0.0'), 'dist/crosswind-lab-1.0.0.tgz')
})

const released = `# Changelog

## [Unreleased]

## [0.3.0] - 2026-12-01

### Added

- A library.

## [0.2.0] - 2026-11-26
`
const citation = 'cff-version: 1.2.0\nversion: 0.3.0\ndate-released: 2026-12-01\n'

test('the note of a release is its section of the changelog', () => {
  assert.deepEqual(lacking('0.3.0', { changelog: released, citation }), [])
  assert.equal(sectionsOf(released)[1].text, '### Added\n\n- A library.')
})

for (const [what, version, changed, expected] of [
  ['another version', '0.4.0', {}, 'has no section "## [0.4.0]'],
  ['no date', '0.3.0', { changelog: released.replace(' - 2026-12-01', '') }, 'has no section'],
  [
    'something unreleased',
    '0.3.0',
    { changelog: released.replace('## [0.3.0]', '- A flag.\n\n## [0.3.0]') },
    'empty section [Unreleased]',
  ],
  ['another date', '0.3.0', { citation: citation.replace('-12-', '-11-') }, 'CITATION.cff has another'],
])
  test(`${what} is named`, () => {
    const sentences = lacking(version, { changelog: released, citation, ...changed })
    assert.equal(sentences.length, 1)
    assert.ok(sentences[0].includes(expected), sentences[0])
  })
