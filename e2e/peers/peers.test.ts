// `--peers`: valid words, the adapter of each, and errors in invalid words.

import assert from 'node:assert/strict'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { faultOf, imitatedModes, peerLabel, readPeers } from './peers.ts'

const folder = temporaryFolder()

/** An empty file. */
function adapter(name: string): string {
  const file = join(folder, name)
  writeFileSync(file, '')
  return file
}

const peer = (word: string) => {
  const [found] = readPeers([word])
  if (!found) throw new Error(word)
  return found
}

test('a peer is one of the lab’s own adapters, a file or a package', () => {
  assert.deepEqual(
    readPeers(['bare', 'socket.io']).map(({ name, file }) => [name, basename(file)]),
    [
      ['bare', 'bare.ts'],
      ['socket.io', 'socket.io.ts'],
    ],
  )
  const file = adapter('my-hub.mjs')
  assert.deepEqual(peer(file), { name: 'my-hub', file })
  const { name, file: entry } = peer('koa')
  assert.equal(name, 'koa')
  assert.match(entry, /node_modules.koa/)
  assert.deepEqual(['socket.io', 'my-hub'].map(peerLabel), ['Socket.IO', 'my-hub'])
})

test('a package is found in the working folder, also if the lab is elsewhere', (t) => {
  const installed = join(folder, 'node_modules/my-adapter')
  mkdirSync(installed, { recursive: true })
  const exports = { '.': { import: './entry.js' } }
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name: 'my-adapter', exports }))
  writeFileSync(join(installed, 'entry.js'), '')
  const before = process.cwd()
  t.after(() => process.chdir(before))
  process.chdir(folder)
  const file = realpathSync(join(installed, 'entry.js'))
  assert.deepEqual(peer('my-adapter'), { name: 'my-adapter', file })
  assert.match(peer('koa').file, /node_modules.koa/)
})

test('the address of a system that is running follows the adapter', () => {
  const file = adapter('hub.mjs')
  for (const address of ['https://host:8000/', 'http://127.0.0.1:3000/', 'https://host/hub'])
    assert.equal(peer(`${file}=${address}`).address, address)
})

test('a bare relay may have a deliberate fault, which its name states', () => {
  assert.deepEqual(
    readPeers(['bare+2.5ms', 'bare+faults']).map(({ name, fault }) => [name, fault]),
    [
      ['bare', '2.5ms'],
      ['bare', 'faults'],
    ],
  )
  const faults = Array.from({ length: 100 }, (_, place) => faultOf(`name.b-1-${place + 1}`))
  assert.equal(faults.filter((fault) => fault === null).length, 97)
  assert.deepEqual([faults[29], faults[39], faults[49]], ['lost', 'duplicated', 'reordered'])
})

test('a system with several modes imitates those of the run; one with a single mode keeps it', () => {
  const own = ['sse/2', 'sse/1.1', 'websocket/1.1']
  assert.deepEqual(imitatedModes(own, ['sse/1.1', 'streaming/2']), ['sse/1.1'])
  assert.deepEqual(imitatedModes(['websocket/1.1'], ['sse/2']), ['websocket/1.1'])
})

const hub = adapter('hub.mjs')

for (const [words, sentence] of [
  [
    ['no-such-package'],
    /"no-such-package", and no such package is installed; there are bare, bare-yjs, ws, /,
  ],
  [['./missing.mjs'], /--peers names "\.\/missing\.mjs": there is no file \/.*missing\.mjs\./],
  [[adapter('a b.mjs')], /reports would call it "a b"; give the file another name/],
  [[adapter('ws.mjs')], /reports would call it "ws"; give the file another name/],
  [['ws+5ms'], /only bare has faults, such as bare\+5ms/],
  [['bare+5'], /only bare has faults/],
  [['bare+5ms', 'bare+5ms'], /names bare\+5ms twice/],
  [[`${hub}=`], /write its address as .*hub\.mjs=https:\/\/host:port\./],
  [[`${hub}=localhost:8000`], /write its address as .*hub\.mjs=https:\/\/host:port\./],
  [['ws=https://host'], /ws is started for the run; write only ws/],
  [[`${hub}=http://host:1234`], /a browser opens http only on its own machine; write .*hub\.mjs=https/],
  [[`${hub}=https://host/?authorization=secret`], /leave out everything after the path/],
  [[`${hub}=https://a`, `${hub}=https://b`], /--peers names hub twice/],
] as const) {
  test(`${words.map((word) => basename(word)).join(',')}: one sentence`, () =>
    assert.throws(() => readPeers(words), sentence))
}
