// A certificate with its private key, and the questions one asks of the two.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

/** PEM text. `cert` may hold a chain, the server's own certificate first. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

/** Thrown when a certificate cannot be used; the message names the file and is meant for people. */
export class CertificateError extends Error {
  override name = 'CertificateError'
}

/** The first certificate in a PEM text; throws CertificateError when there is none, calling the text `file`. */
export function parseCertificate(pem: string, file: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new CertificateError(`${file} is not a certificate in PEM form`)
  }
}

/** The private key in a PEM text; throws CertificateError when there is none or it has a passphrase. */
export function parseKey(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    const isEncrypted = pem.includes('ENCRYPTED')
    const advice = 'has a passphrase; take it off with: openssl pkey -in old.key -out new.key'
    throw new CertificateError(`${file} ${isEncrypted ? advice : 'is not a private key in PEM form'}`)
  }
}

/**
 * Parses a pair and checks that the two belong together and that the certificate has not ended by `now`.
 * Throws CertificateError, which calls them `certFile` and `keyFile`.
 */
export function checkPair(pair: Pair, certFile: string, keyFile: string, now: Date): X509Certificate {
  const certificate = parseCertificate(pair.cert, certFile)
  if (!certificate.checkPrivateKey(parseKey(pair.key, keyFile))) {
    throw new CertificateError(`${keyFile} is not the key of ${certFile}`)
  }
  if (certificate.validToDate <= now) {
    throw new CertificateError(`${certFile} ended on ${day(certificate.validToDate)}`)
  }
  return certificate
}

/** A date as people write it in a sentence: `2027-11-21`, in UTC. */
export const day = (date: Date) => date.toISOString().slice(0, 10)
