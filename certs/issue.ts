// Makes certificates: the local authority's, and the server's that it signs (RFC 5280, ECDSA on P-256).

import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { nameConstraints } from './constraints.ts'
import type { Pair } from './pair.ts'
import * as x509 from './x509.ts'

const dayMs = 24 * 60 * 60 * 1000
/** Clocks of other machines may be behind: a certificate counts from a day before it was made. */
const leadMs = dayMs
const authorityLifeMs = 3650 * dayMs
/** Browsers refuse a server certificate of more than 398 days (CA/Browser Forum, Baseline Requirements 6.3.2). */
const leafLifeMs = 397 * dayMs

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const { BasicConstraintsExtension, ExtendedKeyUsage, KeyUsageFlags, KeyUsagesExtension } = x509

/** What a certificate is for. */
export interface Issue {
  readonly now: Date
  /** Stands in the subject, for people. */
  readonly machine: string
  /** DNS names and IP addresses. */
  readonly hosts: readonly string[]
}

/** A new authority for ten years. It can vouch for `hosts` and local networks only, and for servers only. */
export async function issueAuthority({ now, machine, hosts }: Issue): Promise<Pair> {
  const keys = await newKeys()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(now, authorityLifeMs),
    serialNumber: serialNumber(),
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
  return { cert: pemFile(certificate), key: await keyPem(keys) }
}

/** A server certificate for `hosts`, signed by `authority`; `cert` holds the chain, the server's own first. */
export async function issueLeaf(authority: Pair, { now, machine, hosts }: Issue): Promise<Pair> {
  const issuer = new x509.X509Certificate(authority.cert)
  const keys = await newKeys()
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity(now, leafLifeMs),
    serialNumber: serialNumber(),
    subject: [{ CN: [`Crosswind on ${machine}`.slice(0, 64)] }],
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: await signingKey(authority.key),
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
  return { cert: pemFile(certificate) + authority.cert, key: await keyPem(keys) }
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

/** 128 random bits. The first one is cleared: a serial number is positive (RFC 5280, section 4.1.2.2). */
function serialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes.toString('hex')
}

function signingKey(pem: string) {
  const bytes = x509.PemConverter.decodeFirst(pem)
  return crypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign'])
}

async function keyPem(keys: { readonly privateKey: CryptoKey }): Promise<string> {
  const bytes = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  return `${x509.PemConverter.encode(bytes, 'PRIVATE KEY')}\n`
}

const pemFile = (certificate: x509.X509Certificate) => `${certificate.toString('pem')}\n`
