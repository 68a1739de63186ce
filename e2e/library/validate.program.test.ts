// Validation of published messages by schemas of Standard Schema.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { modes } from '../../protocol/modes.ts'
import type { StandardSchema } from '../../server/index.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { start } from './testing.ts'

const order = z.object({
  items: z.array(z.object({ name: z.string(), count: z.coerce.number().default(1) })),
})

/** Accepts numbers, later ones sooner; adds one. */
const slowAtFirst: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    async validate(value) {
      if (typeof value !== 'number') return { issues: [{ message: 'Not a number', path: [{ key: 'a' }, 0] }] }
      for (let turns = 20 - value; turns > 0; turns -= 1) await new Promise(setImmediate)
      return { value: value + 1 }
    },
  },
}

const channels = {
  'orders.*': { kind: 'json', validate: order },
  numbers: { kind: 'json', validate: slowAtFirst },
} as const

test('zod’s output is stored; a refusal names the path and the message, in every mode', async (t) => {
  const { open, crosswind } = await start(t, { channels, isSecure: true })
  for (const { name } of modes) {
    const room = open({ modes: [name] }).channel(`orders.${name.replace('/', '-')}`)
    await assert.rejects(room.publish({ items: [{ name: 'tea' }, { name: 7 }] }), {
      code: 'bad-shape',
      message: `The data does not fit channel "${room.name}": items.1.name: Invalid input: expected string, received number.`,
    })
    await room.publish({ items: [{ name: 'tea', count: '2', junk: true }, { name: 'milk' }] })
    const [message, ...others] = await Array.fromAsync(crosswind.read(room.name))
    const items = [
      { name: 'tea', count: 2 },
      { name: 'milk', count: 1 },
    ]
    assert.deepEqual([message?.data, others], [{ items }, []])
  }
})

test('the application’s own messages must fit, too', async (t) => {
  const { crosswind } = await start(t, { channels })
  await assert.rejects(crosswind.publish('numbers', 'one'), {
    code: 'bad-shape',
    message: 'The data does not fit channel "numbers": a.0: Not a number.',
  })
  const first = await crosswind.publish('numbers', 1, { id: 'one' })
  assert.deepEqual(await crosswind.publish('numbers', 1, { id: 'one' }), first)
})

for (const { name } of modes)
  test(`an asynchronous schema keeps each client's order over ${name}`, async (t) => {
    const { open, crosswind } = await start(t, { channels, isSecure: true })
    const room = open({ modes: [name] }).channel('numbers')
    await Promise.all(Array.from({ length: 20 }, (_nothing, n) => room.publish(n)))
    const read = await Array.fromAsync(crosswind.read('numbers'))
    assert.deepEqual(
      read.map(({ data }) => data),
      Array.from({ length: 20 }, (_nothing, n) => n + 1),
    )
  })

const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

test('data that the application publishes may be nested 100 levels deep', async (t) => {
  const { crosswind } = await start(t)
  await crosswind.publish('room.1', nested(100))
  for (const levels of [101, 3000, 100_000])
    await assert.rejects(crosswind.publish('room.1', nested(levels)), {
      name: 'TypeError',
      message: 'publish: data is nested more than 100 levels deep, or contains itself.',
    })
  assert.equal((await Array.fromAsync(crosswind.read('room.1'))).length, 1)
})

/** Each fails in its own way. */
const faulty = {
  throws: z.string().transform((text) => JSON.parse(text)),
  rejects: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: () => Promise.reject(new Error('The database is secret.')),
    },
  } satisfies StandardSchema,
  'gives-none': z.string().transform(() => undefined),
  'gives-bigint': z.string().transform(() => 1n),
  'gives-depth': z.string().transform(() => nested(101)),
}

test('a schema that fails: the message is refused once, with a sentence, and the application is told why', async (t) => {
  const failures: unknown[] = []
  const rules = Object.entries(faulty).map(([name, validate]) => [name, { kind: 'json', validate }] as const)
  const { open, crosswind } = await start(t, {
    channels: Object.fromEntries(rules),
    isSecure: true,
    onFailure: (error) => failures.push(error),
  })
  for (const { name: mode } of modes)
    for (const name of Object.keys(faulty)) {
      const refusal = {
        code: 'bad-shape',
        message: `The data could not be checked: the schema of channel "${name}" failed on it.`,
      }
      await assert.rejects(
        open({ modes: [mode] })
          .channel(name)
          .publish('{'),
        refusal,
      )
      assert.equal(failures.splice(0).length, 1)
      await assert.rejects(crosswind.publish(name, '{'), refusal)
      assert.match(
        String(failures.splice(0)),
        /SyntaxError|The database is secret|data is (undefined|1n|nested more)/,
      )
      assert.deepEqual(await Array.fromAsync(crosswind.read(name)), [])
    }
})

test('a repeat is stored once, even if the schema makes something else of it', async (t) => {
  let count = 0
  const validate = z.object({}).transform(() => {
    count += 1
    return { count }
  })
  const { origin, crosswind } = await start(t, { channels: { 'room.*': { kind: 'json', validate } } })
  const client = connectHttp('1.1', origin, null)
  t.after(() => client.close())
  const post = async (data: object) => {
    const { body } = await client.ask({
      method: 'POST',
      path: '/realtime/messages',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        id: 'c1-1',
        channel: 'room.1',
        kind: 'json',
        from: 'c1',
        at: 0,
        body: { data },
      }),
    })
    const { seq, code } = JSON.parse(await textOf(body))
    return seq ?? code
  }
  assert.deepEqual([await post({ a: 1 }), await post({ a: 1 }), await post({ a: 2 })], [1, 1, 'id-taken'])
  const [message, ...others] = await Array.fromAsync(crosswind.read('room.1'))
  assert.deepEqual([message?.data, others], [{ count: 1 }, []])
})
