// The mirror editor in two windows: both end with the log's last content, whoever typed it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modes } from '../../client/wire.ts'
import { startBrowser, until } from '../browser/browser.ts'
import { openWindows, showPages } from '../browser/typing.ts'
import { programs } from '../lab/programs.ts'
import { startServerProcess } from '../lab/server-process.ts'
import { recordingAddress } from '../lab/testbed.ts'

const mode = modes.find(({ name }) => name === 'sse/2') ?? assert.fail()

test('two windows that type at once end with the same content', async (t) => {
  const server = await startServerProcess(programs.adapter, [JSON.stringify({ file: programs.mirror })])
  t.after(server.close)
  const browser = await startBrowser({})
  t.after(browser.quit)
  const windows = await openWindows([browser], 2)
  const [one, other] = windows
  assert.ok(one && other)
  // The caret is in each.
  for (const window of windows)
    await showPages([window], recordingAddress({ server, mode }, 'page'), { text: '', forgets: true })
  const textIn = (window: typeof one) => window.run(() => document.querySelector('#document')?.textContent)
  const shows = (text: string) => async () =>
    (await Promise.all(windows.map(textIn))).every((shown) => shown === text)

  for (const key of 'plan') await one.key(key)
  await until(shows('plan'), 'A window does not show what the other one typed')
  await Promise.all([...'abc'].map((key) => one.key(key)))
  await other.key('x')
  const isSame = async () => (await textIn(one)) === (await textIn(other))
  await until(isSame, 'The windows end with different contents')
  await one.key('!')
  const last = await textIn(one)
  assert.match(last ?? '', /!/)
  await until(shows(last ?? ''), 'The last edit is not shown everywhere')
})
