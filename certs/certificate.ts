// The server's certificate: kept and renewed in a directory, or loaded from the user's files.

import { createPrivateKey, type KeyObject, randomUUID, X509Certificate } from 'node:crypto'
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { parse } from 'tldts'
import { exclusively } from '../scripts/lock.mjs'
import type { Pair } from './x509.ts'

class CertificateError extends Error {
  override name = 'CertificateError'
}

export interface PairFiles {
  readonly certFile: string
  readonly keyFile: string
}

interface CertificateOrder {
  /** Holds four files; created if missing. */
  readonly directory: string
  readonly now: Date
  /** DNS names and IP addresses; this machine's by default. */
  readonly names?: readonly string[]
  readonly addresses?: readonly string[]
}

interface EnsuredCertificate extends Pair, PairFiles {
  /** Browsers and other machines must trust this file. */
  readonly authorityFile: string
  /**
   * Why it was created, half a sentence: `certs/server.pem does not cover 10.0.0.7`; null if it
   * existed.
   */
  readonly reason: string | null
}

const staleLockMs = 10_000

/**
 * Uses the certificate in `directory` if it is intact, covers all names and addresses and is valid
 * for 30 more days. Otherwise renews the leaf, and the authority if it cannot sign that leaf.
 * Throws CertificateError if the files cannot be written.
 */
export async function ensureCertificate({
  directory,
  now,
  names = machineNames(),
  addresses = machineAddresses(),
}: CertificateOrder): Promise<EnsuredCertificate> {
  const files = (name: string) => ({
    certFile: join(directory, `${name}.pem`),
    keyFile: join(directory, `${name}.key`),
  })
  const authority = files('authority')
  const leaf = files('server')
  // A certificate for "dev" would need an authority for all of .dev (RFC 5280, 4.2.1.10).
  const suffixes = names.filter(isPublicSuffix)
  const own = names.filter((name) => !isPublicSuffix(name))
  const hosts = [...own, ...addresses]

  async function checkLeaf(): Promise<void> {
    const certificate = await checkFiles(leaf, now)
    const issuer = parseCertificate(await readPem(authority.certFile), authority.certFile)
    if (!certificate.verify(issuer.publicKey))
      throw new CertificateError(`${leaf.certFile} is not signed by ${authority.certFile}`)
    checkDates(issuer, authority.certFile, now)
    const suffix = suffixes.find((name) => covers(certificate, name))
    if (suffix !== undefined) throw new CertificateError(`${leaf.certFile} covers all of .${suffix}`)
    const uncovered = hosts.find((host) => !covers(certificate, host))
    if (uncovered !== undefined) throw new CertificateError(`${leaf.certFile} does not cover ${uncovered}`)
  }

  async function renew(): Promise<string | null> {
    // Another process may have renewed it in the meantime.
    const leafFault = await faultOf(checkLeaf)
    if (leafFault === null) return null
    // Lazy: the certificate library loads slowly.
    const { forbiddenHost, issueAuthority, issueLeaf } = await import('./x509.ts')
    const authorityFault = await faultOf(async () => {
      const { raw } = await checkFiles(authority, now)
      const forbidden = forbiddenHost(raw, hosts)
      if (forbidden !== undefined)
        throw new CertificateError(`${authority.certFile} may not vouch for ${forbidden}`)
      const suffix = suffixes.find((name) => forbiddenHost(raw, [name]) === undefined)
      if (suffix !== undefined)
        throw new CertificateError(`${authority.certFile} may vouch for every name under .${suffix}`)
    })
    const issue = { machine: names.find((name) => name !== 'localhost') ?? 'localhost', hosts, now }
    if (authorityFault !== null) await writePair(authority, await issueAuthority(issue))
    await writePair(leaf, await issueLeaf(await loadCertificate(authority, now), issue))
    return authorityFault ?? leafFault
  }

  async function renewInTurn(): Promise<string | null> {
    await mkdir(directory, { recursive: true })
    // The extension matches .gitignore.
    return exclusively(join(directory, '.making.key'), renew, { staleMs: staleLockMs })
  }

  const isFaulty = (await faultOf(checkLeaf)) !== null
  const reason = isFaulty ? await orUnwritable(directory, renewInTurn) : null
  return { ...(await loadCertificate(leaf, now)), ...leaf, authorityFile: authority.certFile, reason }
}

/**
 * Reads PEM files, a chain with the server's own certificate first. Throws CertificateError if one
 * is missing, unreadable, not PEM, mismatched or expired.
 */
export async function loadCertificate({ certFile, keyFile }: PairFiles, now: Date): Promise<Pair> {
  const cert = await readPem(certFile)
  const key = await readPem(keyFile)
  const certificate = parseCertificate(cert, certFile)
  if (!certificate.checkPrivateKey(parseKey(key, keyFile)))
    throw new CertificateError(`${keyFile} is not the key of ${certFile}`)
  if (certificate.validToDate <= now)
    throw new CertificateError(`${certFile} ended on ${day(certificate.validToDate)}`)
  return { cert, key }
}

/**
 * `localhost`, the host name, and the multicast DNS name (`.local`, RFC 6762), in lower case. Omits
 * names invalid in a certificate.
 */
export function machineNames(name: string = hostname()): string[] {
  const own = name.toLowerCase()
  const [label = own] = own.split('.')
  return [...new Set(['localhost', own, `${label}.local`].filter(isDnsName))]
}

/** Whether anybody may register names under it: `dev`, `co.uk`, `github.io` (publicsuffix.org). */
function isPublicSuffix(name: string): boolean {
  const { publicSuffix, isIcann, isPrivate } = parse(name, { allowPrivateDomains: true })
  return publicSuffix === name && (isIcann === true || isPrivate === true)
}

function isDnsName(name: string): boolean {
  const label = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?'
  return name.length <= 253 && new RegExp(`^${label}(\\.${label})*$`).test(name)
}

/**
 * Omits link-local IPv6, which needs a zone (`%eth0`) that URLs do not support (WHATWG URL, section
 * 3.5).
 */
export function machineAddresses(interfaces = networkInterfaces()): string[] {
  const addresses = Object.values(interfaces).flatMap((entries) => entries ?? [])
  const usable = addresses.map(({ address }) => address).filter((address) => !address.startsWith('fe80:'))
  return [...new Set(['127.0.0.1', '::1', ...usable])]
}

async function faultOf(check: () => Promise<void>): Promise<string | null> {
  try {
    await check()
    return null
  } catch (error) {
    if (error instanceof CertificateError) return error.message
    throw error
  }
}

function covers(certificate: X509Certificate, host: string): boolean {
  const match =
    isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host)
  return match !== undefined
}

async function checkFiles(files: PairFiles, now: Date): Promise<X509Certificate> {
  const certificate = new X509Certificate((await loadCertificate(files, now)).cert)
  checkDates(certificate, files.certFile, now)
  await keepPrivate(files.keyFile)
  return certificate
}

const renewBeforeEndMs = 30 * 24 * 60 * 60 * 1000

function checkDates({ validFromDate, validToDate }: X509Certificate, file: string, now: Date): void {
  if (validFromDate > now) throw new CertificateError(`${file} does not begin before ${day(validFromDate)}`)
  if (validToDate.getTime() - now.getTime() < renewBeforeEndMs)
    throw new CertificateError(`${file} ends on ${day(validToDate)}`)
}

function parseCertificate(pem: string, file: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new CertificateError(`${file} is not a certificate in PEM form`)
  }
}

function parseKey(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    const isEncrypted = pem.includes('ENCRYPTED')
    const advice = 'has a passphrase; remove it with: openssl pkey -in old.key -out new.key'
    throw new CertificateError(`${file} ${isEncrypted ? advice : 'is not a private key in PEM form'}`)
  }
}

const day = (date: Date) => date.toISOString().slice(0, 10)

async function readPem(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const code = codeOf(error)
    throw new CertificateError(`${file} ${code === 'ENOENT' ? 'is missing' : `cannot be read (${code})`}`)
  }
}

async function writePair({ certFile, keyFile }: PairFiles, { cert, key }: Pair): Promise<void> {
  // Key first: an interruption leaves a detectable mismatch.
  await replaceFile(keyFile, key, 0o600)
  await replaceFile(certFile, cert, 0o644)
}

async function replaceFile(file: string, text: string, mode: number): Promise<void> {
  // Keeps the file's suffix, so that .gitignore covers it.
  const temporary = join(dirname(file), `.${randomUUID()}.${basename(file)}`)
  await orUnwritable(file, async () => {
    try {
      await writeFile(temporary, text, { mode, flag: 'wx' })
      await rename(temporary, file)
    } finally {
      await rm(temporary, { force: true })
    }
  })
}

/** Removes other users' access to a key, if permitted. */
async function keepPrivate(keyFile: string): Promise<void> {
  const { mode } = await stat(keyFile)
  if (process.platform === 'win32' || (mode & 0o077) === 0) return
  try {
    await chmod(keyFile, 0o600)
  } catch (error) {
    if (!['EPERM', 'EROFS'].includes(codeOf(error))) throw error
  }
}

async function orUnwritable<Result>(path: string, write: () => Promise<Result>): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    const isOfSystem = error instanceof Error && 'syscall' in error
    throw isOfSystem ? new CertificateError(`${path} cannot be written`, { cause: error }) : error
  }
}

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)
