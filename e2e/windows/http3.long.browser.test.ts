// Windows over HTTP/3, also when UDP is blocked, an address changes, or the front or server ends.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type WindowMode, windowHttpVersions, windowModes } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { type BrowserWindow, startBrowser, until, whyNoHttp3 } from '../browser/browser.ts'
import { readStamps } from '../browser/typing.ts'
import { caddyPassesStreams, lacksFront } from '../conformance/http3-fronts.ts'
import { certificateIn, freePortsFor, startServerProcess } from '../lab/server-process.ts'
import { startProxy } from '../network/cutting-proxy.ts'
import { startUdpRelay } from '../network/udp-relay.ts'
import { apiRequests, linkState } from './page.ts'
import { browserName, untilOpen, untilShows, untilStored } from './stage.ts'

const root = join(import.meta.dirname, '../..')
const skip = lacksFront || (whyNoHttp3(browserName) ?? false)
/** Windows arrive by it, and the relays listen there; server and front are on 127.0.0.1. */
const host = '127.0.0.3'

async function openFaultyNetwork(t: TestContext, mode: WindowMode) {
  // Not those that an outgoing connection could take meanwhile.
  const { '1.1': http1Port, ...ports } = await freePortsFor(windowHttpVersions)
  const places = { '--port': ports['2'], '--http3-port': ports['3'], '--http1-port': http1Port }
  const flags = Object.entries(places).flatMap(([name, port]) => [name, String(port)])
  const folder = temporaryFolder(t)
  const certificate = await certificateIn(folder, [host])
  const authorityFile = join(folder, 'authority.pem')
  const tls = ['--tls-cert-file', certificate.certFile, '--tls-key-file', certificate.keyFile]
  const start = () =>
    startServerProcess(join(root, 'app/main.ts'), [
      '--http3',
      ...flags,
      ...tls,
      '--data-folder',
      join(folder, 'data'),
      '--sensor-source',
      'none',
      '--allowed-hosts',
      '*',
      '--drain-ms',
      '1000',
    ])
  let server = await start()
  t.after(() => server.close())
  const udp = await startUdpRelay(host, ports['3'], ports['3'])
  t.after(udp.close)
  for (const port of Object.values(ports)) t.after((await startProxy(port, host, port)).close)
  const http3 = {
    origins: [`https://${host}:${ports['3']}`],
    certificates: [certificate.cert],
    authorityFile,
  }
  const browser = await startBrowser({ name: browserName, http3 })
  t.after(() => browser.quit())
  return {
    udp,
    async open(): Promise<BrowserWindow> {
      const window = await browser.newWindow()
      const query = new URLSearchParams({ transport: mode.transport, http: mode.http, record: '' })
      await window.open(`https://${host}:${ports['2']}/d/faults?${query}`)
      return window
    },
    killFront() {
      const [pid] = execFileSync('pgrep', ['-P', String(server.pid), 'caddy'], { encoding: 'utf8' }).split(
        '\n',
      )
      process.kill(Number(pid), 'SIGKILL')
    },
    async restartServer() {
      await server.close()
      server = await start()
    },
  }
}

async function modeOf(window: BrowserWindow): Promise<string | undefined> {
  return (await window.run(linkState)).mode
}

/** Firefox cannot stream request bodies. */
const possible = ({ isOverUdp, uplink }: WindowMode) =>
  isOverUdp && (browserName === 'chromium' || uplink !== 'streamed')

for (const mode of windowModes.filter(possible))
  test(`${mode.name}: nothing is lost or shown twice, and windows come back to HTTP/3`, {
    skip,
  }, async (t) => {
    if (mode.uplink === 'streamed' && !(await caddyPassesStreams()))
      return t.skip('this Caddy drops streamed requests')
    const { udp, open, killFront, restartServer } = await openFaultyNetwork(t, mode)
    const typist = await open()
    const reader = await open()
    const windows = [typist, reader]
    for (const window of windows) await untilOpen(window, mode)
    await typist.click('#document')
    let text = ''

    async function type(words: string, when: string): Promise<void> {
      const startedAt = performance.now()
      const sinceStart = () => `${Math.round(performance.now() - startedAt)} ms`
      await typist.type(words)
      text += words
      await untilStored(typist)
      const stored = sinceStart()
      await untilShows(reader, text)
      t.diagnostic(
        `${when}: stored after ${stored} (${await modeOf(typist)}), shown after ${sinceStart()} (${await modeOf(reader)})`,
      )
    }

    async function untilBack(when: string): Promise<void> {
      const startedAt = performance.now()
      for (const window of windows) await untilOpen(window, mode)
      t.diagnostic(`${when}: back after ${Math.round(performance.now() - startedAt)} ms`)
    }

    await type('one ', 'without a fault')
    // A busy machine may answer late, and Firefox begins over TCP, where it learns of HTTP/3.
    for (const window of windows) {
      await until(async () => (await window.run(linkState)).spokenHttp === '3', 'it does not say HTTP/3')
      if (mode.uplink === 'streamed') continue
      const isOverQuic = async () => (await window.run(apiRequests)).some(({ protocol }) => protocol === 'h3')
      await until(isOverQuic, 'no request was over HTTP/3')
    }
    udp.block(true)
    await type('two ', 'UDP blocked')
    assert.equal(await modeOf(typist), mode.fallback)
    udp.block(false)
    await untilBack('UDP free')
    udp.move()
    await type('three ', 'address changed')
    killFront()
    await type('four ', 'front killed')
    await restartServer()
    await type('five ', 'server restarted')
    udp.block(true)
    const startedAt = performance.now()
    const late = await open()
    await until(async () => (await modeOf(late)) === mode.fallback, 'it did not fall back')
    t.diagnostic(
      `UDP blocked before: the page is there and open after ${Math.round(performance.now() - startedAt)} ms`,
    )
    await untilShows(late, text)
    udp.block(false)
    await untilBack('UDP free')
    await type('six', 'at the end')

    const { sent } = await typist.run(readStamps, 0, 0)
    for (const window of windows) {
      const { received } = await window.run(readStamps, 0, 0)
      const times = Map.groupBy(received, ({ id }) => id)
      for (const { id } of sent)
        assert.equal(times.get(id)?.length, 1, `${id} came ${times.get(id)?.length} times`)
    }
  })
