// `keystrokes --front` as a user runs it: HTTP/3 through Caddy, on networks of which one loses packets.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import type { Packets } from '../lab/run-environment.ts'
import { startLab } from '../lab/testing.ts'
import { whyNoPackets } from '../network/packet-network.ts'

const hasCaddy = spawnSync('caddy', ['version']).status === 0
const skip = (hasCaddy ? whyNoPackets() : 'it needs caddy') ?? false
const size = ['--sessions', '1', '--blocks', '1', '--keys', '4', '--warmup', '1', '--interval', '200']

test('each mode is measured through the front, over each network', { skip }, async (t) => {
  const out = join(temporaryFolder(t), 'report')
  const modes = ['sse/3', 'sse/2', 'websocket/1.1']
  const networks = ['lan', 'lan+5%']
  const flags = ['--modes', modes.join(), '--profile', networks.join(), '--windows', '2', ...size]
  const run = startLab(t, 'keystrokes --front', ...flags, '--out', out)
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  const summary = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  assert.match(summary.parameters.front, /^Caddy \d/)
  const names = modes.flatMap((mode) => networks.map((network) => `${mode} ${network}`))
  assert.deepEqual(summary.levels.mode, names)
  for (const { mode, n, lost } of summary.figures) assert.deepEqual([n, lost], [4, 0], mode)
  for (const { mode, frontCpuMs, serverCpuMs } of summary.costs)
    assert.ok(frontCpuMs > 0 && serverCpuMs > 0, `${mode} ${frontCpuMs} ${serverCpuMs}`)
  const sent = summary.networks.map(({ packets }: { packets: Packets }) => packets.up.sent)
  // At least one for each key and mode.
  assert.ok(sent.length === 2 && Math.min(...sent) >= 12, sent.join())
  assert.match(
    summary.finding,
    /^Against SSE \+ XHR over HTTP\/2, SSE \+ XHR over HTTP\/3 was undecided over lan \(\S+\) and over lan\+5% \(\S+\); against WebSocket it /,
  )
  assert.match(await readFile(join(out, 'report.md'), 'utf8'), /Is HTTP\/3 faster here/)
})
