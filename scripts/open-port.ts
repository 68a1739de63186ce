// Opens ports, and finds free ones.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'

/** Listens, by default on a free port, and resolves to it. */
export async function openPort(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

interface Address {
  readonly port: number
  readonly host: string
}

/** Opens the port exclusively, closes it, and resolves to it. Rejects like `listen`. */
export async function occupy(address: Address): Promise<number> {
  const server = createServer().listen({ ...address, exclusive: true })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** For a program that cannot choose one itself. */
export const freePort = () => occupy({ port: 0, host: '127.0.0.1' })
