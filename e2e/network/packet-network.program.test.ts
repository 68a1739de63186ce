// A network that loses packets: planted losses found, the rate beside theory, and nothing left behind.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { transfer } from '../bench/transfer-bench.ts'
import { until } from '../browser/browser.ts'
import { startLab } from '../lab/testing.ts'
import { whyNoPackets } from './packet-network.ts'

const reason = whyNoPackets()
const skip = reason === null ? false : `No packets can be lost here: ${reason}.`

async function runTransfer(t: TestContext, ...flags: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-transfer-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
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
        const late = network?.lateMs ?? Number.NaN
        assert.ok(Math.abs(late) < 3, `${late} ms late`)
        if (seconds !== '0') assertWithin(ratio ?? assert.fail(), [0.5, 1.6])
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
    await until(async () => namespacesBelow(pid).size === 2, 'No two namespaces', 10_000)
    const processes = processesBelow(pid)
    assert.deepEqual(devicesNow(), devices)
    child.kill(signal)
    const [code] = await ended
    assert.equal(code, signal === 'SIGINT' ? 130 : null)
    // Namespaces end with their last process.
    await until(async () => !processes.some(isRunning), `Processes of ${processes} run on`, 5000)
    assert.deepEqual(devicesNow(), devices)
  })

function assertWithin(value: number, [low, high]: readonly [number, number]): void {
  assert.ok(low <= value && value <= high, `${value} is not within ${low} to ${high}`)
}

const devicesNow = () => execFileSync('ip', ['-brief', 'link'], { encoding: 'utf8' })

/** The process and its descendants. */
function processesBelow(root: number): readonly number[] {
  const found = [root]
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), parentOf(Number(name))] as const)
  for (const parent of found) found.push(...parents.filter(([, of]) => of === parent).map(([pid]) => pid))
  return found
}

/** 0 if it has ended meanwhile. */
function parentOf(pid: number): number {
  const fields = textIn(`/proc/${pid}/stat`).replace(/.*\) /, '').split(' ')
  return Number(fields[1] ?? 0)
}

const namespacesBelow = (root: number) =>
  new Set(processesBelow(root).map((pid) => unlessEnded(() => readlinkSync(`/proc/${pid}/ns/net`))))

const textIn = (path: string) => unlessEnded(() => readFileSync(path, 'utf8'))

/** Empty if the process has ended. */
function unlessEnded(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

const isRunning = (pid: number) => !['', 'Z'].includes(/\) (\S)/.exec(textIn(`/proc/${pid}/stat`))?.[1] ?? '')
