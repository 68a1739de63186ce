// A server that somebody else runs: where its listeners are, which certificate it shows, and how to get in.

import tls from 'node:tls'
import { z } from 'zod'
import type { HttpVersion } from '../../server/wire/modes.ts'
import { connectHttp, textOf } from '../fleet/http.ts'

export interface ForeignServer {
  readonly origin: Readonly<Record<HttpVersion, string>>
  /** What it shows, PEM: the protocol is judged here, not the certificate. */
  readonly ca: string
  readonly cookie: string | undefined
  readonly maxMessageBytes: number
}

const settingsSchema = z.object({
  ports: z.object({ '2': z.int(), '1.1': z.int() }),
  limits: z.object({ maxMessageBytes: z.int() }),
})

/** Rejects with one sentence when nothing answers there, or not as PROTOCOL.md says. */
export async function askServer(address: string, invitation?: string): Promise<ForeignServer> {
  const { hostname, port, origin } = new URL(address)
  const ca = await certificateOf(hostname, Number(port || 443))
  const cookie = invitation === undefined ? undefined : await redeem(origin, ca, invitation)
  const settings = settingsSchema.safeParse(await getJson(origin, ca, '/api/settings', cookie))
  if (!settings.success) throw new Error(`${origin}/api/settings does not say which ports there are.`)
  const { ports, limits } = settings.data
  const at = (version: HttpVersion) => `https://${hostname}:${ports[version]}`
  return { origin: { '2': at('2'), '1.1': at('1.1') }, ca, cookie, maxMessageBytes: limits.maxMessageBytes }
}

async function getJson(origin: string, ca: string, path: string, cookie?: string): Promise<unknown> {
  const http = connectHttp('2', origin, ca, cookie)
  try {
    const { status, body } = await http.ask({ path })
    const text = await textOf(body)
    if (status !== 200) throw new Error(`${origin}${path} answered ${status}: ${text.slice(0, 200)}`)
    return JSON.parse(text)
  } finally {
    http.close()
  }
}

/** The cookie of the session that an invitation opens, `name=value`. Rejects when it is not taken. */
export async function redeem(origin: string, ca: string, invitation: string): Promise<string> {
  const http = connectHttp('2', origin, ca)
  const { pathname, search } = new URL(invitation)
  try {
    const { status, headers } = await http.ask({ path: `${pathname}${search}` })
    const [cookie] = [headers['set-cookie']].flat()
    if (status !== 303 || !cookie) throw new Error(`The invitation was not taken: ${status}.`)
    return cookie.split(';', 1)[0] ?? ''
  } finally {
    http.close()
  }
}

/** The top of the chain that the server shows. */
function certificateOf(host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({
      host,
      port,
      servername: host,
      rejectUnauthorized: false,
      ALPNProtocols: ['h2'],
    })
    socket.once('error', (cause) =>
      reject(new Error(`Nothing answers at ${host}:${port}: ${cause.message}.`, { cause })),
    )
    socket.once('secureConnect', () => {
      let certificate = socket.getPeerX509Certificate()
      const chain: string[] = []
      while (certificate) {
        chain.push(certificate.toString())
        certificate = certificate.issuerCertificate
      }
      socket.destroy()
      resolve(chain.join('\n'))
    })
  })
}
