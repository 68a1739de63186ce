// One client's large messages: the server lives within its memory, and others keep their history.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Message } from '../../protocol/messages.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { keptBytes, startBoundedServer } from './bounded-server.ts'

const maxResidentBytes = 600_000_000
/** Makes an endless flood fail under its own name. */
const timeout = 1_800_000

/** 1 MB, over 20 MB parsed. */
const large = `[${'{},'.repeat(349_000)}{}]`

/** A client of that user, which sends several requests at a time. */
function openUser(t: TestContext, origin: string, user: string) {
  const http = connectHttp('1.1', origin, null)
  t.after(() => http.close())
  const headers = { authorization: `Bearer ${user}` }
  let sent = 0
  /** Status 0: the server has cut the connection. */
  async function ask(path: string, body?: string): Promise<{ status: number; text: string }> {
    const type = body === undefined ? {} : { method: 'POST', body }
    const all = { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) }
    try {
      const answer = await http.ask({ path: `/realtime/${path}`, headers: all, ...type })
      return { status: answer.status, text: await textOf(answer.body) }
    } catch {
      return { status: 0, text: '' }
    }
  }
  return {
    /** Resolves to the status. */
    async publish(channel: string, data: string): Promise<number> {
      sent += 1
      const head = JSON.stringify({ id: `${user}-${sent}`, channel, kind: 'json', from: user, at: sent })
      return (await ask('messages', `${head.slice(0, -1)},"body":{"data":${data}}}`)).status
    },
    /** Everything that the channel has, as texts of JSON: parsing them all takes minutes. */
    async *read(channel: string): AsyncGenerator<string> {
      for (let after = 'start'; ; ) {
        const { status, text } = await ask(`channels/${channel}?after=${after}`)
        if (status !== 200) continue
        yield text
        const [, cursor = ''] = /"cursor":"([^"]+)"/.exec(text.slice(-100)) ?? []
        if (cursor === after) return
        after = cursor
      }
    },
  }
}

/** Runs `count` calls, some at a time. */
async function repeat(count: number, atOnce: number, run: () => Promise<unknown>): Promise<void> {
  let left = count
  const work = async () => {
    while (left > 0) {
      left -= 1
      await run()
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

for (const storage of ['memory', 'sqlite'] as const)
  test(`${storage}: a flood of large messages, read and waiting, costs neither memory nor others' history`, {
    timeout,
  }, async (t) => {
    const { origin, figures } = await startBoundedServer(t, storage)
    const ann = openUser(t, origin, 'ann')
    const eve = openUser(t, origin, 'eve')
    for (let n = 1; n <= 200; n += 1) assert.equal(await ann.publish('room.ann', String(n)), 200)
    await repeat(274, 8, async () => {
      while ((await eve.publish('room.eve', large)) !== 200);
    })
    const { peak: flooded } = await figures()
    t.diagnostic(`flooded: ${Math.round(flooded / 1e6)} MB`)
    let portions = 0
    for await (const _text of eve.read('room.eve')) portions += 1
    assert.ok(portions > (0.9 * keptBytes) / large.length, `${portions} portions`)
    const statuses = new Map<number, number>()
    // Waiting requests are answered after `limits.bodySeconds`.
    await repeat(270, 16, async () => {
      const status = await eve.publish('checked.eve', large)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    })
    assert.equal(statuses.get(200), undefined)
    assert.ok((statuses.get(503) ?? 0) > 0, 'none was refused')
    const texts = await Array.fromAsync(ann.read('room.ann'))
    const numbers = texts.flatMap((text) =>
      JSON.parse(text).messages.map(({ body }: Message) => 'data' in body && body.data),
    )
    assert.deepEqual(
      numbers,
      Array.from({ length: 200 }, (_nothing, n) => n + 1),
    )
    const { peak } = await figures()
    t.diagnostic(`${Math.round(peak / 1e6)} MB, ${JSON.stringify([...statuses])}`)
    assert.ok(peak < maxResidentBytes, `${peak} bytes were resident`)
  })
