// Reports of users who are shown after they have left, or not shown though they are there.

import { type TestContext, test } from 'node:test'
import { compare, proxyBefore } from './comparison.ts'
import { type Documents, edit, startCrosswind, startHocuspocus, startYWebsocket } from './shared-documents.ts'

/** Whom the others see when an editor has disconnected, and when it is back. */
async function cameBack(t: TestContext, documents: Documents) {
  const stays = edit(t, documents)
  const leaves = edit(t, documents)
  await Promise.all([stays.isSynced(true), leaves.isSynced(true)])
  leaves.show('Ann')
  await stays.sees(['Ann'])
  leaves.disconnect()
  const away = await stays.sees([])
  leaves.connect()
  await leaves.isSynced(true)
  return [away, await stays.sees(['Ann'])]
}

// https://github.com/yjs/y-websocket/issues/122
test('an editor that comes back is seen at once', (t) =>
  compare(t, {
    ours: startCrosswind,
    peers: [startYWebsocket, startHocuspocus],
    steps: cameBack,
    wanted: [[], ['Ann']],
  }))

/** Whom the others see when an editor’s network is gone and nobody tells the server. */
async function vanished(t: TestContext, documents: Documents) {
  const proxy = await proxyBefore(t, documents.port)
  const stays = edit(t, documents)
  const vanishes = edit(t, documents, proxy.port)
  await Promise.all([stays.isSynced(true), vanishes.isSynced(true)])
  vanishes.show('Ann')
  await stays.sees(['Ann'])
  proxy.refuse(true)
  proxy.strand()
  return stays.sees([])
}

const listening = (t: TestContext) => startHocuspocus(t, { silentMs: 500 })

// https://github.com/dunglas/mercure/issues/645 (Mercure has no package; Hocuspocus takes its place)
test('an editor whose network is gone is not seen any more', (t) =>
  compare(t, { ours: startCrosswind, peers: [listening], steps: vanished, wanted: [] }))
