// Addresses of servers.

import { isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** The address for people; `localhost` for a wildcard. `host` may be an IP address. */
export function originFor(host: string, port: number): string {
  const name = isWildcard(host) ? 'localhost' : host
  return `https://${isIPv6(name) ? `[${name}]` : name}:${port}`
}

/** Where other devices reach a server that listens at `host`; null if they cannot. */
export function networkOrigin(host: string, port: number, interfaces = networkInterfaces()): string | null {
  if (isLoopback(host)) return null
  if (!isWildcard(host)) return originFor(host, port)
  const all = Object.values(interfaces).flatMap((entries) => entries ?? [])
  const own = all.find(({ family, internal }) => family === 'IPv4' && !internal)
  return own === undefined ? null : originFor(own.address, port)
}

export const isWildcard = (host: string) => host === '0.0.0.0' || host === '::'

/** Whether only this machine can connect. `host` may be a URL's. An unusual spelling counts as public. */
export function isLoopback(host: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(host) || (isIPv4(host) && host.startsWith('127.'))
}
