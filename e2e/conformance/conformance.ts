// `npm run conformance`: the transport suite against a running server.

import { describe } from 'node:test'
import { z } from 'zod'
import { type Mode, modes } from '../../client/wire.ts'
import { connectHttp, redeem, textOf } from '../clients/http-client.ts'
import { readFlags } from '../lab/flags.ts'
import { requireMode } from '../lab/mode-names.ts'
import { commandOf } from '../lab/programs.ts'
import { reachDirectly } from './contract-client.ts'
import { type Subject, testTransportContract } from './transport-contract.ts'

const help = `${commandOf('conformance')} --server URL [flags]

  Tests a server against PROTOCOL.md, over every transport. Writes only to channels of its own.

  --server URL       the server's HTTP/2 port, such as https://localhost:8443
  --modes LIST       modes to test     ${modes.map(({ name }) => name).join(',')}
  --invitation LINK  the whole link, if the server requires one
`

const flagsSchema = z.object({
  server: z.url({ protocol: /^https$/, error: 'must be an https address, https://localhost:8443' }),
  modes: z.string().default('all'),
  invitation: z.url({ error: 'must be the whole invitation link' }).optional(),
})

const settingsSchema = z.object({
  ports: z.object({ '2': z.int(), '1.1': z.int() }),
  limits: z.object({ maxMessageBytes: z.int() }),
})

/** Resolves to the exit status once the tests are defined; one that fails changes it later. */
export async function conformance(argv: readonly string[]): Promise<number> {
  const isAsked = argv.some((flag) => flag === '--help' || flag === '-h')
  if (isAsked || argv.length === 0) {
    process.stdout.write(help)
    return isAsked ? 0 : 1
  }
  const { server, modes: names, invitation } = readFlags(flagsSchema, argv)
  const wanted = names === 'all' ? modes : names.split(',').map(requireMode)
  const subjectFor = await inspectServer(server, invitation)
  for (const mode of wanted) describe(mode.name, () => testTransportContract(mode, () => subjectFor(mode)))
  return 0
}

/**
 * Rejects if no server answers as PROTOCOL.md says. Trusts any certificate: the suite tests the
 * protocol.
 */
async function inspectServer(address: string, invitation?: string): Promise<(mode: Mode) => Subject> {
  const { hostname, origin } = new URL(address)
  const cookie = invitation === undefined ? undefined : await redeem(origin, null, invitation)
  const settings = settingsSchema.safeParse(await getJson(origin, '/api/settings', cookie))
  if (!settings.success) throw new Error(`${origin}/api/settings does not name the ports.`)
  const { ports, limits } = settings.data
  const originAt = (port: number) => `https://${hostname}:${port}`
  const reachable = { origin: { '2': originAt(ports['2']), '1.1': originAt(ports['1.1']) }, ca: null, cookie }
  return (mode) => ({ ...reachDirectly(reachable, mode), ...limits, isApplication: false })
}

async function getJson(origin: string, path: string, cookie?: string): Promise<unknown> {
  const http = connectHttp('2', origin, null, cookie)
  try {
    const { status, body } = await http.ask({ path }).catch((cause) => {
      throw new Error(`Nothing answers at ${origin}.`, { cause })
    })
    const text = await textOf(body)
    if (status !== 200) throw new Error(`${origin}${path} answered ${status}: ${text.slice(0, 200)}`)
    return JSON.parse(text)
  } finally {
    http.close()
  }
}
