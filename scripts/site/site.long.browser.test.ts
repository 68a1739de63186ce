// The documentation's site as people see it: built, served below a path, and read on a small screen.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { type EditingPage, openEditingPage } from '../../e2e/browser/editing.ts'
import { launch, root } from '../child-process.mjs'
import { navigation } from './navigation.ts'

const site = join(root, 'dist/site')
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.gif': 'image/gif',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}
const base = '/crosswind/'

const server = createServer(({ url = '' }, response) => {
  const path = url.replace(base, '').replace(/^$/, 'index.html')
  try {
    const content = readFileSync(join(site, path))
    response.setHeader('Content-Type', types[extname(path)] ?? 'text/plain; charset=utf-8').end(content)
  } catch {
    response.writeHead(404).end()
  }
})
let window: EditingPage
let address: string
before(async () => {
  // Fails if a link of the site leads nowhere.
  assert.equal(await launch(['scripts/site/build.ts', '--base', base]), 0)
  await once(server.listen(0, 'localhost'), 'listening')
  address = `http://localhost:${(server.address() as AddressInfo).port}${base}`
  window = await openEditingPage('chromium', address)
})
after(async () => {
  await window.close()
  server.close()
})

/** Reports have their own tests. */
const pages = () =>
  globSync('**/*.html', { cwd: site }).filter((path) => !/^(reports\/reference-|404)/.test(path))

test('pages link to pages, not to their Markdown', () => {
  for (const path of pages()) {
    const links = readFileSync(join(site, path), 'utf8').match(/ href="(?!\w+:)[^"]*\.md(?=[#"])/g)
    assert.equal(links, null, path)
  }
})

test('no page is wider than a screen of 360 pixels, and none reports an error', async () => {
  assert.ok(pages().length > 60)
  await window.page.setViewport({ width: 360, height: 740 })
  for (const path of pages()) {
    await window.page.goto(address + path, { waitUntil: 'networkidle0' })
    assert.equal(await window.run(() => document.documentElement.scrollWidth), 360, path)
    assert.deepEqual(window.errors(), [], path)
  }
})

test('the search finds a word of a page, and opens the page there', async () => {
  const { page } = window
  await page.setViewport({ width: 1440, height: 900 })
  await page.goto(address, { waitUntil: 'networkidle0' })
  await page.click('.DocSearch-Button')
  await page.waitForSelector('#localsearch-input')
  await page.type('#localsearch-input', 'allowedHosts')
  await page.waitForSelector('#localsearch-list a[href*="docs/server.html#options"]')
  await page.click('#localsearch-list a[href*="docs/server.html#options"]')
  await page.waitForFunction(() => location.pathname.endsWith('/docs/server.html'), { polling: 50 })
  assert.deepEqual(window.errors(), [])
})

test('programs find each page of the navigation as Markdown', () => {
  const list = readFileSync(join(site, 'llms.txt'), 'utf8')
  const whole = readFileSync(join(site, 'llms-full.txt'), 'utf8')
  for (const { path, description } of navigation().flatMap((group) => group.pages)) {
    const [line = ''] = list.split('\n').filter((text) => text.includes(`](${path}`))
    assert.ok(line.endsWith(description), path)
    const [, file = ''] = /\]\(([^)]+)\)/.exec(line) ?? []
    assert.ok(whole.includes(readFileSync(join(site, file), 'utf8')), path)
  }
})
