// A network that loses packets: planted losses found, the rate beside theory, and nothing left behind.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import type { transfer } from '../bench/transfer-bench.ts'
import { until } from '../browser/browser.ts'
import { childrenOf } from '../lab/process-recorder.ts'
import { startLab } from '../lab/testing.ts'
import { whyNoPackets } from './packet-network.ts'

const skip = whyNoPackets() ?? false

async function runTransfer(t: TestContext, ...flags: readonly string[]) {
  const folder = temporaryFolder(t)
  const json = join(folder, 'figures.json')
  const { ended, said } = startLab(t, 'transfer --sessions 1 --seed 7', ...flags, '--json', json)
  const [code] = await ended
  assert.equal(code, 0, said())
  return JSON.parse(await readFile(json, 'utf8')) as ReturnType<typeof transfer.analyse>
}

/** All at once, which shows that runs do not meet. */
const runs = { skip, concurrency: true }

test('three networks at once', runs, async (t) => {
  const found = [
    ['wan+1%', 0.01, '4'],
    ['wan+5%x4', 0.05, '0'],
    ['wan+15%', 0.15, '0'],
  ] as const
  await Promise.all(
    found.map(([words, planted, seconds]) =>
      t.test(`${words} is found by the relay and, independently, by both ends`, async (t) => {
        const flags = ['--profile', words, '--seconds', seconds, '--datagrams', '2000']
        const { network, datagrams, ratio } = await runTransfer(t, ...flags)
        for (const way of ['up', 'down'] as const) {
          const { sent, received, droppedByRelay, lostShareCi95 } = datagrams[way]
          assert.deepEqual([sent, sent - received], [2000, droppedByRelay])
          assertWithin(planted, lostShareCi95)
          const { lostShareCi95: byRelay, overflowed } = network?.packets?.[way] ?? assert.fail()
          assert.equal(overflowed, 0)
          // How many packets a transfer needs is not in the seed.
          if (seconds === '0') assertWithin(planted, byRelay ?? assert.fail())
        }
        assert.ok(Number.isFinite(network?.lateMs))
        if (seconds !== '0') assert.ok((ratio ?? 0) > 0, `${ratio}`)
      }),
    ),
  )
})

for (const signal of ['SIGINT', 'SIGKILL'] as const)
  test(`after ${signal} no process, device or namespace is left`, { skip }, async (t) => {
    const devices = devicesNow()
    const { child, ended } = startLab(t, 'transfer --seconds 30')
    const pid = child.pid ?? assert.fail()
    // The relay, and the peer on the far host.
    await until(async () => (await namespacesBelow(pid)).size === 2, 'No two namespaces', 10_000)
    const processes = await processesBelow(pid)
    assert.deepEqual(devicesNow(), devices)
    child.kill(signal)
    const [code] = await ended
    assert.equal(code, signal === 'SIGINT' ? 130 : null)
    // Namespaces end with their last process.
    await until(
      async () => !(await Promise.all(processes.map(isRunning))).includes(true),
      `Processes of ${processes} run on`,
      5000,
    )
    assert.deepEqual(devicesNow(), devices)
  })

function assertWithin(value: number, [low, high]: readonly [number, number]): void {
  assert.ok(low <= value && value <= high, `${value} is not within ${low} to ${high}`)
}

const devicesNow = () => execFileSync('ip', ['-brief', 'link'], { encoding: 'utf8' })

/** The process and its descendants. */
async function processesBelow(root: number): Promise<readonly number[]> {
  const below = await Promise.all((await childrenOf(root)).map(processesBelow))
  return [root, ...below.flat()]
}

/** Empty for a process that has ended meanwhile. */
async function namespacesBelow(root: number): Promise<ReadonlySet<string>> {
  const links = (await processesBelow(root)).map((pid) => readlink(`/proc/${pid}/ns/net`).catch(() => ''))
  return new Set(await Promise.all(links))
}

/** A zombie is not. */
const isRunning = async (pid: number) =>
  /\) [^Z]/.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))
