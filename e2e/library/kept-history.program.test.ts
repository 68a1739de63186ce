// One user's flood of small messages: the others keep their history.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { start } from './testing.ts'

const logMessages = 2000
const perRequest = 500

const setting = {
  limits: { logMessages, messagesPerSecond: 1_000_000, newChannelsPerHour: 1000 },
  channels: {
    'room.*': { kind: 'json' },
    kept: { kind: 'json', keep: { messages: logMessages - 50 } },
  },
  authorize: ({ token }: { readonly token: string | null }) => ({
    user: `${token}`,
    read: ['*'],
    write: ['*'],
  }),
} as const

/** Stores messages 0, 1, 2 … of a user, each on its channel. */
async function write(t: TestContext, origin: string, user: string, channels: readonly string[]) {
  const http = connectHttp('1.1', origin, null)
  t.after(() => http.close())
  const lines = channels.map((channel, data) =>
    JSON.stringify({ id: `${user}-${data}`, channel, kind: 'json', from: user, at: 1, body: { data } }),
  )
  for (let from = 0; from < lines.length; from += perRequest) {
    const { body } = await http.ask({
      method: 'POST',
      path: '/realtime/messages',
      headers: { 'content-type': 'application/x-ndjson', authorization: `Bearer ${user}` },
      body: lines.slice(from, from + perRequest).join('\n'),
    })
    const answers: readonly { readonly type: string }[] = JSON.parse(await textOf(body))
    assert.deepEqual(new Set(answers.map(({ type }) => type)), new Set(['stored']))
  }
}

const floods: Readonly<Record<string, readonly string[]>> = {
  'on a channel that may keep almost all': ['kept'],
  'over many channels': Array.from({ length: 150 }, (_nothing, place) => `room.eve.${place}`),
}

for (const kind of ['memory', 'sqlite'] as const)
  for (const [where, channels] of Object.entries(floods))
    test(`${kind}: a flood ${where} costs only whoever sent it`, async (t) => {
      const storage = kind === 'memory' ? kind : ({ kind, folder: temporaryFolder(t) } as const)
      const first = await start(t, { ...setting, storage })
      await write(t, first.origin, 'ann', Array(200).fill('room.ann'))
      await write(
        t,
        first.origin,
        'eve',
        Array.from({ length: 3000 }, (_nothing, place) => channels[place % channels.length] ?? ''),
      )
      const check = async ({ read }: typeof first.crosswind) => {
        const dataOn = async (channel: string) =>
          (await Array.fromAsync(read(channel))).map(({ data }) => data)
        assert.deepEqual(
          await dataOn('room.ann'),
          Array.from({ length: 200 }, (_nothing, place) => place),
        )
        const left = (await Promise.all(channels.map(dataOn))).flat()
        assert.equal(left.length, logMessages - 200)
      }
      await check(first.crosswind)
      if (kind === 'memory') return
      await first.stop()
      const next = await start(t, { ...setting, storage })
      await check(next.crosswind)
    })
