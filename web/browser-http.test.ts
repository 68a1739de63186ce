// Which of the browser's requests say what HTTP version it uses.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrowserHttp } from './browser-http.ts'

const origin = 'https://wind.example.org'

function entry(
  nextHopProtocol: string,
  change: { path?: string; entryType?: string; transferSize?: number } = {},
) {
  const { path = '/api/messages', entryType = 'resource', transferSize = 300 } = change
  return { entryType, name: `${origin}${path}`, nextHopProtocol, transferSize }
}

test('names the version of the newest request, and says when it changes', () => {
  const http = new BrowserHttp()
  assert.equal(http.versionFor(origin), null)
  assert.equal(http.take([entry('h2', { path: '/d/notes', entryType: 'navigation' })]), true)
  assert.equal(http.versionFor(origin), '2')
  // The first answer named HTTP/3 (Alt-Svc), which the browser uses from then on.
  assert.equal(http.take([entry('h3'), entry('h3')]), true)
  assert.equal(http.take([entry('h3')]), false)
  assert.equal(http.versionFor(origin), '3')
  assert.equal(http.versionFor('https://other.example.org'), null)
})

test('ignores what the cache or a service worker answered, files, and unknown protocols', () => {
  const http = new BrowserHttp()
  const all = [
    entry('h2', { transferSize: 0 }),
    entry('h2', { path: '/d/notes', entryType: 'navigation', transferSize: 0 }),
    entry('h2', { path: '/assets/index-abc.js' }),
    entry(''),
    entry('constructor'),
  ]
  assert.equal(http.take(all), false)
  assert.equal(http.versionFor(origin), null)
})
