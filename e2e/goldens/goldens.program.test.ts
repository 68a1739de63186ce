// The wire and the logs of released versions are as frozen; `npm run goldens` also compares the rest.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { compare } from './goldens.ts'

for (const kind of ['wire', 'logs'])
  test(`${kind}: nothing has moved`, async (t) => {
    const { moved } = await compare(kind, temporaryFolder(t))
    assert.equal(moved.join('\n'), '', 'npm run goldens -- --update keeps what is there now')
  })
