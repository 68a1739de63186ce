// Entry point of `npm run conformance`: the contract suite against a server that runs already, whoever wrote it.

import { describe } from 'node:test'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { modes } from '../../server/wire/modes.ts'
import { requireMode } from '../lab/subject.ts'
import { askServer, type ForeignServer } from './foreign-server.ts'
import { testPromises } from './promises.ts'

const help = `npm run conformance -- --server URL [flags]

  Holds a server to what PROTOCOL.md promises of every transport. It writes to channels of its own only.

  --server URL       the server, by its HTTP/2 port: https://localhost:8443
  --modes LIST       modes it claims to speak    ${modes.map(({ name }) => name).join(',')}
  --invitation LINK  where the server asks for one: the whole link
`

const schema = z.object({
  server: z.url({ protocol: /^https$/, error: 'must be an https address, https://localhost:8443' }),
  modes: z.string().default('all'),
  invitation: z.url({ error: 'must be the whole link of the invitation' }).optional(),
})

try {
  await run(process.argv.slice(2))
} catch (error) {
  console.error(`\n  ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}

async function run(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      server: { type: 'string' },
      modes: { type: 'string' },
      invitation: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help || values.server === undefined) {
    process.exitCode = values.help ? 0 : 1
    return void process.stdout.write(help)
  }
  const parsed = schema.safeParse(values)
  if (!parsed.success) throw new Error(sentenceFor(parsed.error, values))
  const { server, invitation } = parsed.data
  const wanted = parsed.data.modes === 'all' ? modes : parsed.data.modes.split(',').map(requireMode)
  const found = await askServer(server, invitation)
  for (const mode of wanted) describe(mode.name, () => testPromises(mode, () => subjectOf(found, mode)))
}

function subjectOf(found: ForeignServer, { http }: (typeof modes)[number]) {
  const { ca, cookie, maxMessageBytes } = found
  return { origin: found.origin[http], ca, cookie, maxMessageBytes }
}

function sentenceFor({ issues: [issue] }: z.ZodError, values: Record<string, unknown>): string {
  const flag = String(issue?.path[0])
  return `--${flag} is ${JSON.stringify(values[flag])}: ${issue?.message}.`
}
