// What this machine is called and where it can be reached: the hosts that its certificate must cover.

import { hostname, networkInterfaces } from 'node:os'

type Interfaces = ReturnType<typeof networkInterfaces>

/**
 * `localhost`, the machine's own name, and that name in multicast DNS (`.local`, RFC 6762), in small letters.
 * A name that no certificate could carry (spaces, say) is left out.
 */
export function machineNames(name: string = hostname()): string[] {
  const own = name.toLowerCase()
  const [label = own] = own.split('.')
  return distinct(['localhost', own, `${label}.local`].filter(isDnsName))
}

/**
 * The loopback addresses and every address of the machine's interfaces, but for link-local IPv6: those need
 * a zone (`%eth0`), which no browser takes in an address (WHATWG URL, section 3.5).
 */
export function machineAddresses(interfaces: Interfaces = networkInterfaces()): string[] {
  const addresses = Object.values(interfaces).flatMap((entries) => entries ?? [])
  const usable = addresses.filter(({ address }) => !address.startsWith('fe80:'))
  return distinct(['127.0.0.1', '::1', ...usable.map(({ address }) => address)])
}

function isDnsName(name: string): boolean {
  const label = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?'
  return name.length <= 253 && new RegExp(`^${label}(\\.${label})*$`).test(name)
}

const distinct = (texts: readonly string[]) => [...new Set(texts)]
