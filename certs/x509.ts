// Issues the local authority's certificate and the server's, which it signs (RFC 5280, P-256).

// The library's container needs this polyfill first.
import 'reflect-metadata'
import { BlockList, isIP, isIPv6 } from 'node:net'
import * as x509 from '@peculiar/x509'

/** In PEM. `cert` may contain a chain, with the server's own certificate first. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

interface Issue {
  readonly now: Date
  readonly machine: string
  readonly hosts: readonly string[]
}

const dayMs = 24 * 60 * 60 * 1000
/** Backdated, because other machines' clocks may be slow. */
const leadMs = dayMs
const authorityLifeMs = 3650 * dayMs
/**
 * Browsers refuse server certificates above 398 days (CA/Browser Forum, Baseline Requirements
 * 6.3.2).
 */
const leafLifeMs = 397 * dayMs

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const { BasicConstraintsExtension, ExtendedKeyUsage, KeyUsageFlags, KeyUsagesExtension } = x509

/**
 * Issues a certificate that is valid for ten years, for `hosts` and local networks, and for servers
 * only.
 */
export async function issueAuthority({ now, machine, hosts }: Issue): Promise<Pair> {
  const keys = await newKeys()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(now, authorityLifeMs),
    name: [{ CN: [`Crosswind local authority on ${machine}`.slice(0, 64)] }],
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      new x509.ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      nameConstraints(hosts),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return asPair(certificate, keys.privateKey)
}

export async function issueLeaf(authority: Pair, { now, machine, hosts }: Issue): Promise<Pair> {
  const issuer = new x509.X509Certificate(authority.cert)
  const issuerKey = x509.PemConverter.decodeFirst(authority.key)
  const keys = await newKeys()
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity(now, leafLifeMs),
    subject: [{ CN: [`Crosswind on ${machine}`.slice(0, 64)] }],
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: await crypto.subtle.importKey('pkcs8', issuerKey, algorithm, false, ['sign']),
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(hosts.map(alternativeName)),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  })
  const { cert, key } = await asPair(certificate, keys.privateKey)
  return { cert: cert + authority.cert, key }
}

/**
 * Returns the first host that the authority may not certify; without constraints, the first of all.
 */
export function forbiddenHost(authority: Uint8Array<ArrayBuffer>, hosts: readonly string[]) {
  const { extensions } = new x509.X509Certificate(authority)
  const constraints = extensions.find(({ type }) => type === nameConstraintsOid)
  const bytes = constraints ? Buffer.from(constraints.value) : Buffer.alloc(0)
  // DER has one encoding per subtree, so a byte search suffices.
  return hosts.find((host) => !bytes.includes(subtreeOf(host)))
}

const alternativeName = (host: string): x509.JsonGeneralName => ({
  type: isIP(host) === 0 ? 'dns' : 'ip',
  value: host,
})

const newKeys = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])

function validity(now: Date, lifeMs: number) {
  const notBefore = new Date(now.getTime() - leadMs)
  return { notBefore, notAfter: new Date(notBefore.getTime() + lifeMs) }
}

async function asPair(certificate: x509.X509Certificate, privateKey: CryptoKey): Promise<Pair> {
  const bytes = await crypto.subtle.exportKey('pkcs8', privateKey)
  const key = x509.PemConverter.encode(bytes, 'PRIVATE KEY')
  return { cert: `${certificate.toString('pem')}\n`, key: `${key}\n` }
}

/** RFC 5280, section 4.2.1.10. */
const nameConstraintsOid = '2.5.29.30'

const permittedSubtrees = 0xa0
const sequence = 0x30

/**
 * Whole networks, so that a laptop can move: private ones (RFC 1918, 6598, 3927, 4193, 4291) and
 * IPv6 unicast, whose addresses change daily (RFC 8981). Excludes public web names, which would be
 * dangerous.
 */
const permittedNetworks = [
  '127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 100.64.0.0/10',
  '::1/128 fc00::/7 fe80::/10 2000::/3',
].flatMap((networks) => networks.split(' '))

/** The critical extension that makes trusting the authority harmless. */
function nameConstraints(hosts: readonly string[]): x509.Extension {
  const networks = permittedNetworks.map((network) => subtree('ip', network))
  const subtrees = [...networks, ...hosts.map(subtreeOf)]
  const distinct = new Map(subtrees.map((subtree) => [subtree.toString('hex'), subtree]))
  const value = der(sequence, der(permittedSubtrees, ...distinct.values()))
  return new x509.Extension(nameConstraintsOid, true, value)
}

function subtreeOf(host: string): Buffer {
  if (isIP(host) === 0) return subtree('dns', host)
  // The library misreads `::ffff:127.0.0.1`; the URL parser converts it to groups.
  const address = isIPv6(host) ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host
  const own = `${address}/${isIPv6(host) ? 128 : 32}`
  return subtree('ip', permittedNetworks.find((network) => contains(network, host)) ?? own)
}

const subtree = (type: 'dns' | 'ip', value: string) =>
  der(sequence, Buffer.from(new x509.GeneralName(type, value).rawData))

function contains(network: string, address: string): boolean {
  const [base = '', prefix] = network.split('/')
  const list = new BlockList()
  list.addSubnet(base, Number(prefix), family(base))
  return family(base) === family(address) && list.check(address, family(address))
}

const family = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')

/** One DER element (X.690), up to 65,535 bytes. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer<ArrayBuffer> {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(content.length)]), content])
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length]
  if (length < 0x100) return [0x81, length]
  if (length < 0x10000) return [0x82, length >> 8, length & 0xff]
  throw new RangeError(`a DER element of ${length} bytes is longer than 65535`)
}
