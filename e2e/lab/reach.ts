// Under which name, ports and certificate other machines reach this run's servers.

import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { loadCertificate } from '../../certs/certificate.ts'
import { type CertificateFiles, certificateIn, findFreePorts, type Ports } from './server-process.ts'

interface ReachSettings {
  /** Name or address of this machine; default: its first address that is not of a loopback interface. */
  readonly host?: string | undefined
  /** Address to listen on; default: the host. */
  readonly listen?: string | undefined
  /** First of the ports; default: free ones. */
  readonly port?: number | undefined
  /** PEM; default: the certificate of `npm start`. */
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
}

const certs = join(import.meta.dirname, '../../certs')

/** Ports stay the same for the whole run, so that a browser's exception for a certificate does too. */
export class Reach {
  readonly host: string
  readonly listen: string
  readonly certificate: CertificateFiles
  /** What devices must trust; null for a certificate of the user's own. */
  readonly authorityFile: string | null
  readonly #first: number | undefined
  readonly #chosen = new Map<number, Ports>()

  static async open({ host = ownAddress(), listen = host, port, certFile, keyFile }: ReachSettings) {
    const isOwn = certFile !== undefined && keyFile !== undefined
    const certificate = isOwn
      ? { ...(await loadCertificate({ certFile, keyFile }, new Date())), certFile, keyFile }
      : await certificateIn(certs, host)
    return new Reach(host, listen, port, certificate, isOwn ? null : 'certs/authority.pem')
  }

  private constructor(
    host: string,
    listen: string,
    first: number | undefined,
    certificate: CertificateFiles,
    authorityFile: string | null,
  ) {
    this.host = host
    this.listen = listen
    this.#first = first
    this.certificate = certificate
    this.authorityFile = authorityFile
  }

  /** 0 takes a free one. */
  get joinPort(): number {
    return this.#first ?? 0
  }

  /** Of the run's server at that place, from 0. */
  async portsOf(place: number): Promise<Ports> {
    const after = this.#first === undefined ? null : this.#first + 1 + 2 * place
    const ports =
      this.#chosen.get(place) ?? (after === null ? await findFreePorts() : { '2': after, '1.1': after + 1 })
    this.#chosen.set(place, ports)
    return ports
  }
}

function ownAddress(): string {
  const entries = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const found = entries.find(({ internal, family }) => !internal && family === 'IPv4')
  if (found) return found.address
  throw new Error(
    'This machine has no address that others could reach; --host names one, or --host 127.0.0.1 for this machine alone.',
  )
}
