// Caddy between the windows and a measured server: a port for each version of HTTP.

import type { WindowHttp } from '../../client/wire.ts'
import { caddyVersion, type FrontPort, startCaddy } from '../../scripts/caddy.ts'
import { readUse } from './process-recorder.ts'

/** Each port speaks one version, so that a browser cannot use another than the measured one. */
const protocols: Readonly<Record<WindowHttp, FrontPort['protocols']>> = {
  // Caddy opens the port of HTTP/3 for TCP, too: `Http3Opening` keeps the browser from it.
  '3': ['h1', 'h2', 'h3'],
  '2': ['h1', 'h2'],
  '1.1': ['h1'],
}

const otherwise = 'Without --front the lab measures HTTP/2 and HTTP/1.1.'

export type FrontPorts = Readonly<Record<WindowHttp, number>>

interface Fronting {
  readonly host: string
  readonly ports: FrontPorts
  readonly upstreamPort: number
  readonly certFile: string
  readonly keyFile: string
  /** As for a server's process. */
  readonly through?: readonly string[]
  readonly askedAt?: string
}

export async function startFront({ ports, through, askedAt, ...own }: Fronting) {
  const ofVersions = Object.entries(ports) as [WindowHttp, number][]
  const listening = ofVersions.map(([http, port]) => ({ port, protocols: protocols[http] }))
  const starting = { otherwise, ...(through && { through }), ...(askedAt && { askedAt }) }
  const { pid, close } = await startCaddy({ ...own, ports: listening }, starting)
  return { close, use: () => readUse(pid) }
}

/** `Caddy 2.6.2`. Rejects with one sentence if it is not installed. */
export const frontName = async () => `Caddy ${await caddyVersion(otherwise)}`
