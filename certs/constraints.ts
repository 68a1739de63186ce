// What the local authority may vouch for: a NameConstraints extension that keeps trusting it harmless.

import { BlockList, isIP, isIPv6 } from 'node:net'
import { der, ipBytes, maskBytes } from './der.ts'
import { Extension } from './x509.ts'

/** RFC 5280, section 4.2.1.10. */
const nameConstraintsOid = '2.5.29.30'

const permittedSubtrees = 0xa0
const sequence = 0x30
const dnsName = 0x82
const ipAddress = 0x87

interface Network {
  readonly base: string
  readonly prefix: number
}

/**
 * Networks that are permitted as a whole, so that a laptop which moves to another one keeps its authority:
 * the private ones (RFC 1918, 6598, 3927, 4193, 4291), and IPv6 unicast, because those addresses change by
 * the day (RFC 8981). No name of the public web is among them, and that is where the harm would be.
 */
const permittedNetworks: readonly Network[] = [
  { base: '127.0.0.0', prefix: 8 },
  { base: '10.0.0.0', prefix: 8 },
  { base: '172.16.0.0', prefix: 12 },
  { base: '192.168.0.0', prefix: 16 },
  { base: '169.254.0.0', prefix: 16 },
  { base: '100.64.0.0', prefix: 10 },
  { base: '::1', prefix: 128 },
  { base: 'fc00::', prefix: 7 },
  { base: 'fe80::', prefix: 10 },
  { base: '2000::', prefix: 3 },
]

/** The critical extension that limits an authority to `hosts` (DNS names and IP addresses) and local networks. */
export function nameConstraints(hosts: readonly string[]): Extension {
  const subtrees = [...permittedNetworks.map(networkSubtree), ...hosts.map(subtreeOf)]
  const distinct = new Map(subtrees.map((subtree) => [subtree.toString('hex'), subtree]))
  return new Extension(nameConstraintsOid, true, der(sequence, der(permittedSubtrees, ...distinct.values())))
}

/** Whether an extension made by `nameConstraints` permits this DNS name or IP address. */
export function permits(constraints: Extension | null, host: string): boolean {
  // The subtrees are written one way only (DER), so looking for the bytes is reading them.
  return constraints !== null && Buffer.from(constraints.value).includes(subtreeOf(host))
}

/** The NameConstraints among a certificate's extensions; null when there are none. */
export function constraintsAmong(extensions: readonly Extension[]): Extension | null {
  return extensions.find(({ type }) => type === nameConstraintsOid) ?? null
}

function subtreeOf(host: string): Buffer {
  if (isIP(host) === 0) return der(sequence, der(dnsName, Buffer.from(host, 'ascii')))
  const own = { base: host, prefix: isIPv6(host) ? 128 : 32 }
  return networkSubtree(permittedNetworks.find((network) => contains(network, host)) ?? own)
}

function networkSubtree({ base, prefix }: Network): Buffer {
  const address = ipBytes(base)
  return der(sequence, der(ipAddress, Buffer.concat([address, maskBytes(prefix, address.length)])))
}

function contains({ base, prefix }: Network, address: string): boolean {
  const network = new BlockList()
  network.addSubnet(base, prefix, family(base))
  return family(base) === family(address) && network.check(address, family(address))
}

const family = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')
