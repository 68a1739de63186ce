// The keystroke scenario as a user runs it: over networks, on other servers, interrupted, with a fault.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import type { Packets } from '../lab/run-environment.ts'
import { startLab } from '../lab/testing.ts'
import { whyNoPackets } from '../network/packet-network.ts'

const folder = temporaryFolder()

test('over a simulated network, and over budget: the delay is measured, and the exit status reports a figure out of bounds', async (t) => {
  const out = join(folder, 'mobile')
  const budget = join(folder, 'budget.json')
  await writeFile(budget, '{"figures":{"*":{"lost":0,"mean":20}}}')
  const size = ['--sessions', '1', '--keys', '4', '--blocks', '1', '--windows', '2', '--warmup', '0']
  const network = ['--profile', 'mobile', '--modes', 'websocket/1.1', '--peers', 'bare']
  const run = startLab(t, 'keystrokes', ...size, ...network, '--budget', budget, '--out', out)
  const [code] = await run.ended
  assert.equal(code, 2, run.said())
  assert.match(run.said(), /Over budget: websocket\/1\.1: mean is \d+\.?\d*, at most 20 allowed/)
  assert.doesNotMatch(run.said(), /Over budget: .*lost/)
  const {
    figures,
    network: simulated,
    finding,
  } = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  // At least 25 ms each way, to the server and to the window.
  for (const { mode, mean, n } of figures) assert.ok(mean > 50 && n === 4, `${mode} ${mean}`)
  assert.equal(simulated.profile, 'mobile')
  assert.ok(Number.isFinite(simulated.lateMs), String(simulated.lateMs))
  assert.match(finding, /^Over the simulated network “mobile”: /)
  assert.match(
    await readFile(join(out, 'report.md'), 'utf8'),
    /from one window to the others over a simulated network, “mobile”\?/,
  )
})

const skip = whyNoPackets() ?? false

test('over a network that loses packets: every key arrives, and the report first counts packets', {
  skip,
}, async (t) => {
  const out = join(folder, 'lossy')
  const size = ['--sessions', '1', '--keys', '6', '--blocks', '1', '--windows', '2', '--warmup', '0']
  const network = ['--profile', 'wan+5%', '--modes', 'sse/2,websocket/1.1', '--peers', 'bare']
  const run = startLab(t, 'keystrokes', ...size, ...network, '--out', out)
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  const { figures, network: simulated } = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  assert.equal(figures.length, 4)
  // At least 25 ms each way.
  for (const { mode, mean, n, lost } of figures)
    assert.ok(mean > 49 && n === 6 && lost === 0, `${mode} ${mean} ${n} ${lost}`)
  const { up, down } = simulated.packets
  assert.ok(up.sent > 40 && down.sent > 40 && up.lost + down.lost > 0, JSON.stringify(simulated.packets))
  const report = await readFile(join(out, 'report.md'), 'utf8')
  assert.match(report, /IP packets, by the relay’s count[\s\S]*Comparisons/)
})

test('over several networks the same windows take turns with the same server', { skip }, async (t) => {
  const out = join(folder, 'networks')
  const size = ['--sessions', '1', '--keys', '4', '--blocks', '1', '--windows', '2', '--warmup', '0']
  const run = startLab(t, 'keystrokes', ...size, '--profile', 'lan,wan+5%', '--modes', 'sse/2', '--out', out)
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  const { figures, networks, finding } = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  const [near, far] = figures
  assert.deepEqual([near.mode, near.n, far.mode, far.n], ['sse/2 lan', 4, 'sse/2 wan+5%', 4])
  assert.ok(far.p50 > 49, String(far.p50))
  const sent = networks.map(({ packets }: { packets: Packets }) => packets.up.sent)
  // At least one for each key.
  assert.ok(sent.length === 2 && Math.min(...sent) >= 4, sent.join())
  assert.match(
    finding,
    /^Undecided whether wan\+5% or lan is faster: SSE \+ XHR over HTTP\/2 took \S+ times as long\. One session /,
  )
})

test('other systems take turns with the modes: the lab’s own adapters, and one of a file with an address', async (t) => {
  const out = join(folder, 'peers')
  const hub = await startHub(t)
  const size = ['--sessions', '1', '--keys', '3', '--blocks', '1', '--windows', '2', '--warmup', '0']
  const local = 'bare,bare-yjs,ws,socket.io,engine.io,socketcluster'
  const mercure = join(import.meta.dirname, '../../examples/adapters/mercure.mjs')
  const peers = ['--modes', 'websocket/1.1', '--peers', `${local},${mercure}=${hub}`]
  process.env.MERCURE_JWT = 'a token'
  const run = startLab(t, 'keystrokes', ...size, ...peers, '--out', out)
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  const summary = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  const names = [...local.split(',').map((name) => `${name}:websocket/1.1`), 'mercure:sse/1.1']
  assert.deepEqual(summary.levels.mode, ['websocket/1.1', ...names])
  for (const { mode, n, expected, lost, duplicated } of summary.figures)
    assert.deepEqual([n, expected, lost, duplicated], [3, 3, 0, 0], mode)
  for (const [place, one] of summary.details.modes.entries()) {
    const { mode, upMs, sentBytes, receivedBytes } = one
    const { serverRssBytes } = summary.costs[place]
    assert.ok(sentBytes > 0 && receivedBytes >= sentBytes, mode)
    const isHere = !mode.startsWith('mercure')
    assert.deepEqual([upMs !== undefined, serverRssBytes !== null], [isHere, isHere], mode)
  }
  assert.match(summary.peers[2].version, /^\d/)
  const report = await readFile(join(out, 'report.md'), 'utf8')
  assert.match(report, /Against other systems/)
  assert.ok(!report.includes('a token'))
})

/**
 * The minimum of a Mercure hub that the page needs: updates to a topic go to its event streams.
 * Resolves to its address.
 */
async function startHub(t: TestContext): Promise<string> {
  const streams = new Set<ServerResponse>()
  const hub = createServer(async (request, response) => {
    response.setHeader('Access-Control-Allow-Origin', '*')
    const { searchParams } = new URL(request.url ?? '', 'http://hub')
    if (searchParams.get('authorization') !== 'a token') return response.writeHead(401).end()
    if (request.method === 'POST') {
      const data = new URLSearchParams(await text(request)).get('data')
      for (const stream of streams) stream.write(`data: ${data}\n\n`)
      return response.end('an id')
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders()
    streams.add(response)
    response.on('close', () => streams.delete(response))
  }).listen(0, '127.0.0.1')
  t.after(() => {
    hub.close()
    hub.closeAllConnections()
  })
  await once(hub, 'listening')
  return `http://127.0.0.1:${(hub.address() as AddressInfo).port}`
}

test('Ctrl-C in the third session of five leaves a report of the two that are whole', async (t) => {
  const out = join(folder, 'stopped')
  const size = '--sessions 5 --keys 2 --blocks 1 --windows 1 --warmup 1 --modes websocket/1.1,sse/2'
  const run = startLab(t, `keystrokes ${size}`, '--out', out)
  await run.hasSaid('Session 3 of 5')
  run.pressCtrlC()
  const [code] = await run.ended
  assert.equal(code, 130, run.said())
  assert.match(run.said(), /Session 2 of 5 is done; about \d+ \w+ left\./)
  assert.match(run.said(), /Stopped after 2 of 5 sessions; [\s\S]*file:\/\/\/.*\/stopped\/report\.html/)
  const { sessions, stopped, comparisons } = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  assert.deepEqual([sessions, stopped], [2, { sessions: 2, planned: 5 }])
  assert.ok(comparisons.every(({ sessions }: { sessions: unknown[] }) => sessions.length === 2))
  assert.match(await readFile(join(out, 'report.md'), 'utf8'), /; stopped after 2 of 5 sessions\n/)
})

test('Ctrl-C in the first session leaves nothing that looks complete', async (t) => {
  const out = join(folder, 'nothing')
  const run = startLab(t, 'keystrokes --modes websocket/1.1 --keys 400 --windows 1', '--out', out)
  await run.hasSaid('400 keys for each mode')
  run.pressCtrlC()
  const [code] = await run.ended
  assert.equal(code, 130, run.said())
  assert.match(run.said(), /Stopped; no report was written/)
  assert.equal(existsSync(out), false)
  assert.equal(existsSync(`${out}.unfinished`), false)
})

test('the second Ctrl-C ends it at once', async (t) => {
  const run = startLab(t, 'keystrokes --modes websocket/1.1 --windows 1', '--out', join(folder, 'at once'))
  await run.hasSaid('warming up')
  run.child.kill('SIGINT')
  await run.hasSaid('Stopping')
  run.pressCtrlC()
  const [code] = await run.ended
  assert.equal(code, 130, run.said())
  assert.doesNotMatch(run.said(), /Stopped/)
})
