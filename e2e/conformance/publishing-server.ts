// A server of an application that publishes until it is killed, and prints what is acknowledged.

import { once } from 'node:events'
import { createCrosswind, Refusal } from '../../server/index.ts'
import { type BrokerName, storageOn } from './brokers.ts'

/** Node arguments. It publishes `FIRST`, `FIRST + 1` and so on, and prints `NUMBER ID` for each. */
export const publishing = (name: BrokerName, port: number, log: string, first: number) => [
  import.meta.filename,
  ...[name, port, log, first].map(String),
]

export interface Published {
  readonly id: string
}

/** Messages that wait for an acknowledgement at the same time. */
const lanes = 8

if (import.meta.main) {
  const [name, port, log = '', first] = process.argv.slice(2)
  const crosswind = await createCrosswind({
    path: '/api',
    channels: { '*': { kind: 'json' } },
    authorize: 'everyone',
    storage: storageOn(name as BrokerName, Number(port), log),
  })
  let next = Number(first)

  async function publish(id: string): Promise<number> {
    for (;;) {
      try {
        return (await crosswind.publish('main', { id } satisfies Published, { id })).seq
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
      }
    }
  }

  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (;;) {
        const id = String(next)
        next += 1
        const seq = await publish(id)
        if (!process.stdout.write(`${seq} ${id}\n`)) await once(process.stdout, 'drain')
      }
    }),
  )
}
