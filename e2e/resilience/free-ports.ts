// Two ports that nobody uses, to be used again and again by a server that is restarted.

import { once } from 'node:events'
import net from 'node:net'
import type { Ports } from '../lab/server-process.ts'

/** Free when they were looked for; both were held at the same time, so that they differ. */
export async function findFreePorts(): Promise<Ports> {
  const [one, other] = [await hold(), await hold()]
  const ports = { '2': portOf(one), '1.1': portOf(other) }
  for (const server of [one, other]) {
    server.close()
    await once(server, 'close')
  }
  return ports
}

async function hold(): Promise<net.Server> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function portOf(server: net.Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('A server that listens has no port.')
  return address.port
}
