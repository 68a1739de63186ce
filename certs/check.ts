// Reads the kept pairs and says what is wrong with them.

import type { X509Certificate } from 'node:crypto'
import { readPem } from './load.ts'
import { CertificateError, checkPair, day, type Pair } from './pair.ts'
import { keepPrivate, type PairFiles } from './store.ts'

/** A certificate is renewed when it has less than this left. */
const renewBeforeEndMs = 30 * 24 * 60 * 60 * 1000

/** Both files of a pair; throws CertificateError that names the one that cannot be read. */
export async function readPair({ certFile, keyFile }: PairFiles): Promise<Pair> {
  return { cert: await readPem(certFile), key: await readPem(keyFile) }
}

/** The certificate of a kept pair that belongs together and stays valid; throws CertificateError otherwise. */
export async function checkFiles(files: PairFiles, now: Date): Promise<X509Certificate> {
  const certificate = checkPair(await readPair(files), files.certFile, files.keyFile, now)
  checkDates(certificate, files.certFile, now)
  await keepPrivate(files.keyFile)
  return certificate
}

/** Throws CertificateError unless the certificate has begun and lasts 30 days more. */
export function checkDates(certificate: X509Certificate, file: string, now: Date): void {
  if (certificate.validFromDate > now) {
    throw new CertificateError(`${file} does not begin before ${day(certificate.validFromDate)}`)
  }
  if (certificate.validToDate.getTime() - now.getTime() < renewBeforeEndMs) {
    throw new CertificateError(`${file} ends on ${day(certificate.validToDate)}`)
  }
}

/** What a check complains of, as half a sentence; null when it passes. Other errors go through. */
export async function faultOf(check: () => Promise<void>): Promise<string | null> {
  try {
    await check()
    return null
  } catch (error) {
    if (error instanceof CertificateError) return error.message
    throw error
  }
}
