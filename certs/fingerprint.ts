// The fingerprint of a certificate's public key.

import { createHash, X509Certificate } from 'node:crypto'

/**
 * Base64 of the SHA-256 of the SubjectPublicKeyInfo of the first certificate in a PEM text (RFC 7469, section
 * 2.4): what Chromium's `--ignore-certificate-errors-spki-list` takes. Throws when the text is no certificate.
 */
export function publicKeyFingerprint(pem: string): string {
  const spki = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(spki).digest('base64')
}
