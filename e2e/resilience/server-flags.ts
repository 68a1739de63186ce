// The settings of the server under test: a log that survives, little patience, and little room for a slow window.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureCertificate } from '../../certs/certificate.ts'

export interface Ground {
  readonly flags: readonly string[]
  /** The certificate to trust, PEM. */
  readonly ca: string
  readonly maxMessageBytes: number
  readonly clear: () => Promise<void>
}

const maxMessageBytes = 65_536
const queueBytes = 1_048_576

/** A fresh folder with a certificate and room for a log: nothing that somebody wrote before has part in the run. */
export async function prepareGround(): Promise<Ground> {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-resilience-'))
  const certs = join(folder, 'certs')
  const { cert } = await ensureCertificate({ directory: certs, now: new Date() })
  const settings = {
    host: 'localhost',
    storage: 'sqlite',
    'data-folder': join(folder, 'data'),
    'sensor-source': 'none',
    'tls-cert-file': join(certs, 'server.pem'),
    'tls-key-file': join(certs, 'server.key'),
    // Silence is noticed within five seconds, so that a short run has some of it.
    'heartbeat-ms': 2000,
    'drain-ms': 2000,
    'limits-queue-bytes-per-window': queueBytes,
    'limits-max-message-bytes': maxMessageBytes,
    // Whatever is said in a run is read back at its end.
    'limits-log-messages': 1_000_000,
    'limits-log-bytes': 4 * 1024 ** 3,
  }
  return {
    flags: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ca: cert,
    maxMessageBytes,
    clear: () => rm(folder, { recursive: true, force: true }),
  }
}
