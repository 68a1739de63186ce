// Opens a server's port.

import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

/** Listens, by default on a free port, and resolves to it. */
export async function openPort(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
