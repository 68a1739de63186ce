// Servers and their broker are killed while they append: nothing acknowledged is lost or doubled.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { createSeededRandom } from '../../protocol/time.ts'
import { createCrosswind } from '../../server/index.ts'
import { type BrokerName, onEachBroker, storageOn } from './brokers.ts'
import { type Published, publishing } from './publishing-server.ts'

const rounds = 3
const firstOf = (round: number, server: number) => (round * 2 + server) * 1_000_000

/** Numbers by id. */
type Acknowledged = Map<string, number>

function startPublishing(context: TestContext, args: readonly string[], acknowledged: Acknowledged) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  context.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'close')
  let count = 0
  let onCounted = () => undefined as unknown
  createInterface({ input: child.stdout }).on('line', (line) => {
    // It also says when its log is away.
    const [, seq, id] = /^(\d+) (\d+)$/.exec(line) ?? []
    if (id === undefined) return
    acknowledged.set(id, Number(seq))
    count += 1
    onCounted()
  })
  return {
    /** Resolves when so many more are acknowledged. */
    async acknowledges(more: number): Promise<void> {
      const wanted = count + more
      const reached = new Promise<void>((resolve) => {
        onCounted = () => count >= wanted && resolve()
      })
      await Promise.race([reached, ended.then(() => assert.fail('the server ended by itself'))])
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function readAll(context: TestContext, name: BrokerName, port: number, log: string) {
  const crosswind = await createCrosswind({
    path: '/api',
    channels: { '*': { kind: 'json' } },
    authorize: 'everyone',
    storage: storageOn(name, port, log),
  })
  context.after(() => crosswind.close({ drainMs: 0 }))
  return Array.fromAsync(crosswind.read('main'), ({ data, seq }) => ({ id: (data as Published).id, seq }))
}

onEachBroker((name, broker) =>
  test(`${name}: the broker and the servers are killed while they append: each acknowledged message is there once, in order`, {
    timeout: 240_000,
  }, async (context) => {
    const { port, kill: killBroker, restart } = broker()
    const log = 'kills'
    const random = createSeededRandom(13)
    const acknowledged: Acknowledged = new Map()
    for (let round = 0; round < rounds; round += 1) {
      const start = (server: number) =>
        startPublishing(context, publishing(name, port, log, firstOf(round, server)), acknowledged)
      const one = start(0)
      const other = start(1)
      const some = () => Math.ceil(random() * 300)
      await Promise.all([one.acknowledges(some()), other.acknowledges(some())])
      await killBroker()
      await restart()
      await one.acknowledges(some())
      await one.kill()
      await other.acknowledges(some())
      await other.kill()
    }
    const stored = await readAll(context, name, port, log)
    const seqs = new Map(stored.map(({ id, seq }) => [id, seq]))
    assert.equal(seqs.size, stored.length, 'one is stored twice')
    const missing = [...acknowledged].filter(([id, seq]) => seqs.get(id) !== seq)
    assert.deepEqual(missing, [])
    for (let round = 0; round < rounds; round += 1)
      for (const server of [0, 1]) {
        const first = firstOf(round, server)
        const own = stored.map(({ id }) => Number(id)).filter((id) => id >= first && id < first + 1_000_000)
        assert.deepEqual(
          own,
          own.toSorted((a, b) => a - b),
        )
      }
    context.diagnostic(`${acknowledged.size} acknowledged, ${stored.length} stored`)
  }),
)
