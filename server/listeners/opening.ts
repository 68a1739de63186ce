// Takes a port, or says in one sentence why it cannot be taken.

import { once } from 'node:events'
import type { AddressInfo, Server as NetServer } from 'node:net'

export async function open(server: NetServer, port: number, host: string): Promise<void> {
  server.listen({ port, host: host === 'localhost' ? '127.0.0.1' : host })
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new Error(whyNotOpen(port, host, cause), { cause })
  }
}

function whyNotOpen(port: number, host: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'EADDRINUSE')
    return `Port ${port} is taken on ${host}; stop what holds it, or choose another with --port and --http1-port (0 takes a free one).`
  if (code === 'EACCES') return `Port ${port} needs more rights than this user has; choose one above 1023.`
  return `Cannot listen on ${host}:${port}: ${cause instanceof Error ? cause.message : cause}.`
}

export function portOf(server: NetServer): number {
  const address = server.address() as AddressInfo
  return address.port
}
