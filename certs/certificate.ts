// Keeps the server's certificate in order: what is there and good is used, anything else is made anew.

import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { checkDates, checkFiles, faultOf, readPair } from './check.ts'
import { readPem } from './load.ts'
import { machineAddresses, machineNames } from './machine.ts'
import { CertificateError, type Pair, parseCertificate } from './pair.ts'
import type { Shelf } from './renew.ts'
import { exclusively, pairFiles } from './store.ts'

export interface CertificateOrder {
  /** Where the four files are kept; made when missing. */
  readonly directory: string
  readonly now: Date
  /** DNS names to cover; the machine's own by default. */
  readonly names?: readonly string[]
  /** IP addresses to cover; the machine's own by default. */
  readonly addresses?: readonly string[]
}

export interface EnsuredCertificate extends Pair {
  /** What a browser or another machine has to trust. */
  readonly authorityFile: string
  readonly made: 'nothing' | 'leaf' | 'everything'
  /** Why something was made, as half a sentence: `certs/server.pem does not cover 10.0.0.7`; null when nothing was. */
  readonly reason: string | null
  readonly expires: Date
}

/**
 * The server's certificate chain and key. Uses those in `directory` when they are whole, belong together, cover
 * all names and addresses and last 30 days more; renews the leaf otherwise, and the authority too when it cannot
 * sign that leaf. Damaged files are replaced. Throws CertificateError when they cannot be written.
 */
export async function ensureCertificate(order: CertificateOrder): Promise<EnsuredCertificate> {
  const { directory, now, names = machineNames(), addresses = machineAddresses() } = order
  const shelf = {
    authority: pairFiles(directory, 'authority'),
    leaf: pairFiles(directory, 'server'),
    machine: names.find((name) => name !== 'localhost') ?? 'localhost',
    hosts: [...names, ...addresses],
    now,
  }
  const fault = await faultOf(() => checkLeaf(shelf))
  return fault === null ? ensured(shelf, 'nothing', null) : exclusively(directory, () => makeAnew(shelf))
}

async function makeAnew(shelf: Shelf): Promise<EnsuredCertificate> {
  // Again: another process may have made it while this one waited for its turn.
  const fault = await faultOf(() => checkLeaf(shelf))
  if (fault === null) return ensured(shelf, 'nothing', null)
  // Only now, because loading the certificate library takes longer than all the rest.
  const { renew } = await import('./renew.ts')
  const authorityFault = await renew(shelf)
  return ensured(shelf, authorityFault === null ? 'leaf' : 'everything', authorityFault ?? fault)
}

async function ensured(
  { authority, leaf }: Shelf,
  made: EnsuredCertificate['made'],
  reason: string | null,
): Promise<EnsuredCertificate> {
  const pair = await readPair(leaf)
  const expires = parseCertificate(pair.cert, leaf.certFile).validToDate
  return { ...pair, authorityFile: authority.certFile, made, reason, expires }
}

async function checkLeaf({ authority, leaf, hosts, now }: Shelf): Promise<void> {
  const certificate = await checkFiles(leaf, now)
  const issuer = parseCertificate(await readPem(authority.certFile), authority.certFile)
  if (!certificate.verify(issuer.publicKey)) {
    throw new CertificateError(`${leaf.certFile} is not signed by ${authority.certFile}`)
  }
  checkDates(issuer, authority.certFile, now)
  const uncovered = hosts.find((host) => !covers(certificate, host))
  if (uncovered !== undefined) throw new CertificateError(`${leaf.certFile} does not cover ${uncovered}`)
}

function covers(certificate: X509Certificate, host: string): boolean {
  const match =
    isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host)
  return match !== undefined
}
