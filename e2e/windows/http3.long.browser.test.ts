// Windows behind the front that serves HTTP/3. Firefox accepts it only with a certificate of a public authority.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort } from '../../scripts/open-port.ts'
import { temporaryFolder } from '../../server/folder-testing.ts'
import { type WindowMode, windowModes } from '../../server/wire/modes.ts'
import { type BrowserWindow, startBrowser, until } from '../browser/browser.ts'
import { http3Switches } from '../browser/http3-client.ts'
import { lacksFront, startFronts } from '../conformance/http3-fronts.ts'
import { startServerProcess } from '../lab/server-process.ts'
import { apiRequests, linkState } from './page.ts'
import { browserName, untilOpen, untilShows } from './stage.ts'

const root = join(import.meta.dirname, '../..')

async function startFronted(t: TestContext) {
  const port = await freePort()
  const own = ['--port', '0', '--http1-port', '0', '--storage', 'memory', '--sensor-source', 'none']
  const server = await startServerProcess(join(root, 'server/main.ts'), [
    '--http3',
    ...['--http3-port', String(port), '--data-folder', temporaryFolder(t)],
    ...own,
  ])
  t.after(() => server.close())
  const certificate = await readFile(join(root, 'certs/server.pem'), 'utf8')
  const browser = await startBrowser({ further: http3Switches([port], certificate) })
  t.after(() => browser.quit())
  async function open({ transport, http }: WindowMode, channel: string): Promise<BrowserWindow> {
    const window = await browser.newWindow()
    const query = new URLSearchParams({ transport, http, record: '' })
    await window.open(`https://localhost:${port}/d/${channel}?${query}`)
    return window
  }
  return { open }
}

async function findsStreams(): Promise<boolean> {
  const fronts = await startFronts()
  try {
    return await fronts.passesStreams()
  } finally {
    await fronts.close()
  }
}

test('two windows are in step over HTTP/3, in each mode that Caddy passes on, and the page names it', {
  skip: browserName === 'chromium' ? lacksFront : 'needs Chromium',
}, async (t) => {
  const { open } = await startFronted(t)
  const passesStreams = await findsStreams()
  const isPassed = ({ isOverUdp, uplink }: WindowMode) => isOverUdp && (uplink === 'xhr' || passesStreams)
  for (const mode of windowModes.filter(isPassed)) {
    const channel = mode.name.replace('/', '-')
    const windows = [await open(mode, channel), await open(mode, channel)] as const
    for (const window of windows) {
      await untilOpen(window, mode)
      await until(
        async () => (await window.run(linkState)).spokenHttp === '3',
        `a window in ${mode.name} does not say HTTP/3`,
      )
    }
    const [one, two] = windows
    await one.click('#document')
    await one.type('over QUIC')
    await untilShows(two, 'over QUIC')
    for (const window of windows) {
      const protocols = (await window.run(apiRequests)).map(({ protocol }) => protocol)
      // A streamed request is listed once it has ended.
      assert.deepEqual([...new Set(protocols)], mode.uplink === 'xhr' ? ['h3'] : [])
      await window.close()
    }
  }
})
