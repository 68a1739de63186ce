// An application's server keeps to PROTOCOL.md on the wire, in every mode.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Bodies, Message } from '../../protocol/messages.ts'
import { modes } from '../../protocol/modes.ts'
import type { CrosswindOptions } from '../../server/index.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { start } from '../library/testing.ts'
import { openJson } from './contract-client.ts'

interface Page {
  readonly messages: readonly Message<'json'>[]
  readonly cursor: string
  readonly recovered: boolean
}

const allowAda = () => ({ user: 'ada', read: ['room.*'], write: ['room.*'] })

async function startWith(t: TestContext, options: Partial<CrosswindOptions> = {}) {
  const { origin, crosswind } = await start(t, { isSecure: true, authorize: allowAda, ...options })
  const http = connectHttp('1.1', origin, null)
  t.after(() => http.close())
  const read = async (channel: string, after: string): Promise<Page> => {
    const { body } = await http.ask({ path: `/realtime/channels/${channel}?after=${after}` })
    return JSON.parse(await textOf(body))
  }
  return { origin, crosswind, read }
}

const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

for (const mode of modes)
  describe(`json channels over ${mode.name}`, () => {
    test('the server adds the user, and ignores one that a client sends', async (t) => {
      const { origin } = await startWith(t)
      const ann = openJson(t, origin, mode, 'room.1')
      const bob = openJson(t, origin, mode, 'room.1')
      await Promise.all([ann.next('welcome'), bob.next('welcome')])
      const draft = ann.draft(1, [null, { any: 'JSON' }])
      const refused = await ann.send({ ...draft, body: { ...draft.body, user: 'bob' } })
      assert.equal(refused.type === 'refused' && refused.code, 'bad-shape')
      assert.equal((await ann.send(draft)).type, 'stored')
      const { message } = await bob.next('message')
      assert.deepEqual(message.body, { data: [null, { any: 'JSON' }], user: 'ada' })
    })

    if (mode.isPush)
      test('a stream on which newer messages replace older ones asks how far it was read, and again once it was answered', async (t) => {
        const channels = { 'room.*': { kind: 'json', latest: { by: 'id' } } } as const
        const { origin, crosswind } = await startWith(t, { channels, heartbeatMs: 60_000 })
        const ann = openJson(t, origin, mode, 'room.1')
        await ann.next('welcome')
        const text = 'x'.repeat(10_000)
        for (const id of [1, 2, 3, 4, 5]) await crosswind.publish('room.1', { id, text })
        const first = await ann.next('heartbeat')
        assert.equal(first.newest, 1)
        while ((await ann.next('message')).message.seq < 5);
        assert.ok(ann.take().every(({ type }) => type !== 'heartbeat'))
        ann.beat({ at: first.at })
        const second = await ann.next('heartbeat')
        assert.deepEqual([second.newest, second.at > first.at], [5, true])
      })

    test('a volatile message has its sender’s user, and the schema and the permit hold for it', async (t) => {
      const validate = {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value: unknown) =>
            typeof value === 'number' ? { value: value + 1 } : { issues: [{ message: 'no number' }] },
        },
      } as const
      const channels = { 'room.*': { kind: 'json', validate }, 'read.*': { kind: 'json' } } as const
      const authorize = () => ({ user: 'ada', read: ['room.*', 'read.*'], write: ['room.*'] })
      const { origin } = await startWith(t, { channels, authorize })
      const ann = openJson(t, origin, mode, 'room.1')
      const bob = openJson(t, origin, mode, 'room.1')
      await Promise.all([ann.next('welcome'), bob.next('welcome')])
      const refused = [ann.draft(1, 'text'), { ...ann.draft(2, 2), channel: 'read.1' }]
      const answers = [...refused, ann.draft(3, 3)].map((one) => ann.send({ ...one, volatile: true }))
      assert.deepEqual(
        (await Promise.all(answers)).map((answer) => (answer.type === 'refused' ? answer.code : answer.seq)),
        ['bad-shape', 'read-only-invitation', 0],
      )
      const { message } = await bob.next('volatile')
      const { data, user } = message.body as Bodies['json']
      assert.deepEqual([message.id, data, user], [ann.draft(3, 3).id, 4, 'ada'])
    })

    test('a window shows itself on each of its channels by any JSON of the bytes that the welcome names, as its user', async (t) => {
      const { origin } = await startWith(t)
      const ann = openJson(t, origin, mode, 'room.1,room.2')
      const bob = openJson(t, origin, mode, 'room.2')
      const [{ stateBytes }] = await Promise.all([ann.next('welcome'), bob.next('welcome')])
      const state = 'x'.repeat(stateBytes - 2)
      ann.sendAwareness({ channel: 'room.1', state: { on: 'the other' } })
      ann.sendAwareness({ channel: 'room.2', state })
      const { channel, windows } = await bob.next('awareness')
      assert.deepEqual([channel, windows], ['room.2', [{ window: ann.window, user: 'ada', state }]])
    })

    test('data is nested 100 levels deep at most: deeper is refused, and costs nobody else a message', async (t) => {
      const { origin, read } = await startWith(t)
      const ann = openJson(t, origin, mode, 'room.1')
      const bob = openJson(t, origin, mode, 'room.1')
      await Promise.all([ann.next('welcome'), bob.next('welcome')])
      for (const [index, levels] of [101, 3000].entries()) {
        const refused = await ann.send(ann.draft(index, nested(levels)))
        assert.ok(refused.type === 'refused' && refused.code === 'bad-shape')
        assert.match(
          refused.message,
          new RegExp(`^The data is nested ${levels} levels deep; it may be 100\\.`),
        )
      }
      assert.equal((await ann.send(ann.draft(3, nested(100)))).type, 'stored')
      const { message } = await bob.next('message')
      assert.deepEqual(message.body, { data: nested(100), user: 'ada' })
      const { messages } = await read('room.1', 'start')
      assert.deepEqual(messages, [message])
    })

    test('a stream that resumes too late gets recovered: false; each channel returns what it still has', async (t) => {
      const channels = {
        'room.1': { kind: 'json', keep: { messages: 2 } },
        'room.2': { kind: 'json' },
      } as const
      const { origin, crosswind, read } = await startWith(t, { channels })
      const publish = (channel: string, data: number) => crosswind.publish(channel, data)
      await publish('room.2', 1)
      const { cursor } = await read('room.1', 'newest')
      for (const n of [1, 2, 3]) await publish('room.1', n)
      await publish('room.2', 2)
      const late = openJson(t, origin, mode, 'room.1,room.2', cursor)
      const welcome = await late.next('welcome')
      assert.equal(welcome.recovered, false)
      const dataIn = ({ messages }: Page) => messages.map(({ body }) => body.data)
      const pages = await Promise.all([
        ...['room.1', 'room.2'].map((channel) => read(channel, cursor)),
        read('room.1', 'start'),
        read('room.1', welcome.cursor),
      ])
      assert.deepEqual(
        pages.map((page) => [page.recovered, dataIn(page), page.cursor === welcome.cursor]),
        [
          [false, [2, 3], true],
          [true, [2], true],
          [true, [2, 3], true],
          [true, [], true],
        ],
      )
    })
  })
