// Reports of users who are shown though they have left, or not though they are there, tried on their systems and on Crosswind.

import { type TestContext, test } from 'node:test'
import { compare } from './comparison.ts'
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
