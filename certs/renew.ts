// Makes the server's certificate anew, and the authority too when it cannot sign that one.

import { checkFiles, faultOf, readPair } from './check.ts'
import { constraintsAmong, permits } from './constraints.ts'
import { type Issue, issueAuthority, issueLeaf } from './issue.ts'
import { CertificateError } from './pair.ts'
import { type PairFiles, writePair } from './store.ts'
import { X509Certificate } from './x509.ts'

export interface Shelf extends Issue {
  readonly authority: PairFiles
  readonly leaf: PairFiles
}

/** Writes a new leaf. Answers what was wrong with the authority, which is then new as well; null when it was kept. */
export async function renew(shelf: Shelf): Promise<string | null> {
  const fault = await faultOf(() => checkAuthority(shelf))
  if (fault !== null) await writePair(shelf.authority, await issueAuthority(shelf))
  await writePair(shelf.leaf, await issueLeaf(await readPair(shelf.authority), shelf))
  return fault
}

async function checkAuthority({ authority, hosts, now }: Shelf): Promise<void> {
  const certificate = await checkFiles(authority, now)
  const constraints = constraintsAmong(new X509Certificate(certificate.raw).extensions)
  const forbidden = hosts.find((host) => !permits(constraints, host))
  if (forbidden !== undefined)
    throw new CertificateError(`${authority.certFile} may not vouch for ${forbidden}`)
}
