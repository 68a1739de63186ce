// Loads a certificate of the user's own, named in the config.

import { readFile } from 'node:fs/promises'
import { CertificateError, checkPair, type Pair } from './pair.ts'

export interface OwnCertificate {
  readonly certFile: string
  readonly keyFile: string
  readonly now: Date
}

export interface LoadedCertificate extends Pair {
  readonly expires: Date
}

/**
 * Reads a certificate (or chain, the server's own first) and its key, both PEM. Throws CertificateError with a
 * sentence that names the file when one is missing, unreadable, not PEM, not of the other, or has ended.
 */
export async function loadCertificate({
  certFile,
  keyFile,
  now,
}: OwnCertificate): Promise<LoadedCertificate> {
  const cert = await readPem(certFile)
  const key = await readPem(keyFile)
  const certificate = checkPair({ cert, key }, certFile, keyFile, now)
  return { cert, key, expires: certificate.validToDate }
}

/** A file's text; throws CertificateError that names the file. */
export async function readPem(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new CertificateError(
      `${file} ${isMissing(error) ? 'is missing' : `cannot be read (${codeOf(error)})`}`,
    )
  }
}

const isMissing = (error: unknown) => codeOf(error) === 'ENOENT'

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)
