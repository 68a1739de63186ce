// When packages count as installed, the inputs of a build, and the search for browsers.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { root } from './child-process.mjs'
import { temporaryFolder } from './folder-testing.ts'
import { buildSources, filesBelow, findPrograms, hashOf, isComplete, majorOf } from './preparation.mjs'

const wanted = {
  '': { version: '0.1.0' },
  'node_modules/koa': { version: '3.3.0', integrity: 'sha512-koa' },
  'node_modules/other-system': { version: '1.0.0', integrity: 'sha512-other', optional: true },
}
const koa = wanted['node_modules/koa']

test('packages are complete without the optional ones of other systems', () => {
  assert.equal(isComplete(wanted, { 'node_modules/koa': koa }), true)
})

test('development packages may be missing where they are not asked for', () => {
  const withTools = {
    ...wanted,
    'node_modules/vite': { version: '8.0.0', integrity: 'sha512-vite', dev: true },
  }
  assert.equal(isComplete(withTools, { 'node_modules/koa': koa }, { withDev: false }), true)
  assert.equal(isComplete(withTools, { 'node_modules/koa': koa }), false)
})

test('packages are incomplete if one is missing or of another version', () => {
  assert.equal(isComplete(wanted, {}), false)
  assert.equal(isComplete(wanted, { 'node_modules/koa': { ...koa, version: '3.2.0' } }), false)
  assert.equal(isComplete(wanted, { 'node_modules/koa': { ...koa, integrity: 'sha512-else' } }), false)
})

test('the major version is the first number', () => {
  assert.equal(majorOf('^26.10.0'), 26)
  assert.equal(majorOf('v20.1.2'), 20)
  assert.ok(Number.isNaN(majorOf('')))
})

test('files are listed with forward slashes, without node_modules and dist', () => {
  const files = filesBelow('scripts')
  assert.ok(files.includes('scripts/preparation.mjs'))
  assert.deepEqual(files, files.toSorted())
  assert.deepEqual(filesBelow('package.json'), ['package.json'])
  assert.deepEqual(filesBelow('no-such-folder'), [])
})

async function folderWith(t, ...programs) {
  const folder = temporaryFolder(t)
  for (const name of programs) await writeFile(join(folder, name), '', { mode: 0o755 })
  return folder
}

test('the hash depends on names and contents', async (t) => {
  const folder = relative(root, await folderWith(t, 'a', 'b'))
  const a = join(folder, 'a')
  const b = join(folder, 'b')
  const first = hashOf([a, b])
  assert.equal(hashOf([a, b]), first)
  assert.notEqual(hashOf([a]), first)
  await writeFile(join(root, b), 'three')
  assert.notEqual(hashOf([a, b]), first)
})

test('the web app is rebuilt if any file that it imports changes', () => {
  const sources = new Set(buildSources())
  const imported = new Set(['web/main.tsx'])
  for (const file of imported) {
    assert.ok(sources.has(file), `${file} is imported but not among the sources of the build.`)
    const modules = readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g)
    for (const [, path] of modules) {
      const name = join(file, '..', path)
      if (existsSync(join(root, name)) && /\.tsx?$/.test(name)) imported.add(name)
    }
  }
  assert.ok(imported.has('app/document/line-reader.ts'))
})

const posixOnly = {
  skip: process.platform === 'win32' ? 'programs are recognised by their extension there' : false,
}

test('both programs are found in PATH, under their usual names', posixOnly, async (t) => {
  const folder = await folderWith(t, 'google-chrome', 'chromedriver')
  assert.deepEqual(findPrograms('chromium', {}, ['/none', folder]), {
    CROSSWIND_CHROMIUM: join(folder, 'google-chrome'),
    CROSSWIND_CHROMEDRIVER: join(folder, 'chromedriver'),
  })
})

test('variables take precedence over PATH', posixOnly, async (t) => {
  const folder = await folderWith(t, 'chromium', 'chromedriver')
  const found = findPrograms('chromium', { CROSSWIND_CHROMIUM: '/my/chromium', CROSSWIND_CHROMEDRIVER: '' }, [
    folder,
  ])
  assert.equal(found.CROSSWIND_CHROMIUM, '/my/chromium')
  assert.equal(found.CROSSWIND_CHROMEDRIVER, join(folder, 'chromedriver'))
})

test('a browser without its driver is not enough', posixOnly, async (t) => {
  const folder = await folderWith(t, 'chromium')
  assert.throws(() => findPrograms('chromium', {}, [folder]), /Chromium and ChromeDriver are needed here/)
})

test(
  'Firefox needs no driver; a variable takes precedence over PATH, and Debian’s name over others',
  posixOnly,
  async (t) => {
    const debian = await folderWith(t, 'firefox', 'firefox-esr')
    const other = await folderWith(t, 'firefox')
    assert.deepEqual(findPrograms('firefox', {}, [other, debian]), {
      CROSSWIND_FIREFOX: join(debian, 'firefox-esr'),
    })
    assert.deepEqual(findPrograms('firefox', {}, [other]), { CROSSWIND_FIREFOX: join(other, 'firefox') })
    assert.deepEqual(findPrograms('firefox', { CROSSWIND_FIREFOX: '/my/firefox' }, [debian]), {
      CROSSWIND_FIREFOX: '/my/firefox',
    })
    assert.throws(() => findPrograms('firefox', {}, ['/none']), /Firefox is needed here/)
  },
)

test('neither a folder nor a file that cannot be run is a program', posixOnly, async (t) => {
  const folder = await folderWith(t, 'firefox', 'chromedriver')
  await mkdir(join(folder, 'chromium'))
  assert.throws(() => findPrograms('chromium', {}, [folder]), /needed here/)
  await chmod(join(folder, 'firefox'), 0o644)
  // To root every file looks readable, yet not runnable.
  assert.throws(() => findPrograms('firefox', {}, [folder]), /needed here/)
})
