// Entry point of the server: reads the configuration, starts, and drains on a signal.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { ensureCertificate, loadCertificate, type PairFiles } from '../certs/certificate.ts'
import { isLoopback, networkOrigin, originFor } from '../scripts/addresses.ts'
import { goOnWithoutOutput, leaveWhenDone, processTimers } from '../scripts/process.ts'
import { isWorker, printAs, reportFailedStart } from '../server/program.ts'
import { invitationLink, isOpenTo, loadKey, makeInvitation, type Permission } from './access.ts'
import { type Config, loadConfig, readFlags, wantsHelp } from './config/config.ts'
import { configHelp } from './config/schema.ts'
import { startHttp3Front } from './http3-front.ts'
import { output } from './output.ts'
import { type Server, startServer } from './server.ts'
import { mainChannel } from './shared/page-messages.ts'

const signals = ['SIGINT', 'SIGTERM'] as const

const root = join(import.meta.dirname, '..')
/** Set by `npm run dev`. */
const vite = process.env.CROSSWIND_VITE
const webFolder = vite ? new URL(vite) : join(root, 'web/dist')

const ownFlags = {
  open: z.boolean().default(false),
  http3: z.boolean().default(false),
  invite: z.boolean().default(false),
}

const invitedForHours = 24
/** SQLITE_BUSY (sqlite.org/rescode.html): the log's file is open elsewhere. */
const busy = 5

leaveWhenDone()
goOnWithoutOutput()
printAs(formatAskedFor())
try {
  if (wantsHelp(process.argv)) process.stdout.write(configHelp(process.argv.includes('all')))
  else await run()
} catch (error) {
  reportFailedStart('Crosswind did not start.', isTaken(error) ? forSecondServer(error) : error)
}

/** Whether another server has the port, or the log. */
function isTaken(error: unknown): error is Error {
  const cause: unknown = error instanceof Error ? error.cause : null
  if (!(cause instanceof Error)) return false
  const isPort = 'code' in cause && cause.code === 'EADDRINUSE'
  return isPort || ('errcode' in cause && cause.errcode === busy)
}

function forSecondServer({ message }: Error): Error {
  return new Error(`${message} A second server needs --port, --http1-port and --data-folder of its own.`)
}

/** Read before the configuration, whose errors are printed too. */
function formatAskedFor(): Config['logFormat'] {
  const options = { 'log-format': { type: 'string' } } as const
  const { values } = parseArgs({ args: process.argv.slice(2), options, strict: false })
  return (values['log-format'] ?? process.env.CROSSWIND_LOG_FORMAT) === 'json' ? 'json' : 'text'
}

async function run(): Promise<void> {
  const { own, settings } = readFlags(process.argv.slice(2), ownFlags)
  const loaded = await loadConfig({ argv: settings, env: process.env, cwd: root })
  const config = withInvitations(withHttp3(loaded, own), own)
  printAs(config.logFormat, config)
  const certificate = await certificateFor(config)
  const frontPort = frontPortOf(config, own)
  const parts = { config, tls: certificate, webFolder, root, frontPort }
  const served = await startServer(parts)
  if (isWorker()) return
  const server = frontPort === null ? served : await withFront(served, parts)
  for (const signal of signals) process.once(signal, () => stop(server, config))
  process.once('disconnect', () => stop(server, config))
  void server.lost.then(() => {
    process.exitCode = 1
    return stop(server, config)
  })
  const address = originFor(config.host, server.ports[config.http] ?? server.ports['2'])
  const links = isOpenTo(config) ? null : await invitationLinks(config, server)
  const { transport, http, host, sensor } = config
  const fields = {
    address,
    host,
    ports: server.ports,
    transport,
    http,
    log: server.log,
    wind: sensor.source,
  }
  output.say(
    'started',
    `Crosswind is running at ${address}.`,
    fields,
    greeting(config, server, { address, advice: certificate.advice, links }),
  )
  // Tells a parent process (lab, tests).
  process.send?.({ type: 'ready', ports: server.ports })
  if (own.open) void openBrowser(links?.here ?? address)
}

/** With `--invite`, other devices reach the server, by invitation. */
function withInvitations(config: Config, { invite }: { readonly invite: boolean }): Config {
  return invite && isLoopback(config.host) ? { ...config, host: '0.0.0.0' } : config
}

interface InvitationLinks {
  /** To write every document, on this machine. */
  readonly here: string
  /** To write the main document, on other devices; null if they do not reach the server. */
  readonly elsewhere: string | null
}

async function invitationLinks(config: Config, { ports }: Server): Promise<InvitationLinks> {
  const { host, http } = config
  const port = ports[http] ?? ports['2']
  const key = await loadKey(config, root)
  const expiresAt = Date.now() + invitedForHours * 3_600_000
  const linkTo = async (origin: string, channels: Permission['channels']) =>
    invitationLink(origin, await makeInvitation({ channels, may: 'write', expiresAt }, key))
  const elsewhere = networkOrigin(host, port)
  return {
    here: await linkTo(originFor(host, port), 'all'),
    elsewhere: elsewhere && (await linkTo(elsewhere, [mainChannel])),
  }
}

interface Http3Flag {
  readonly http3: boolean
}

/** With a front, windows use HTTP/3 where they can. */
function withHttp3(config: Config, { http3 }: Http3Flag): Config {
  return http3 ? { ...config, http: '3' } : config
}

function frontPortOf({ http3Port }: Config, { http3 }: Http3Flag): number | null {
  return http3 ? http3Port : null
}

/** The same server behind a front that serves HTTP/3; the front ends after it. */
async function withFront(server: Server, { config, tls }: FrontedParts): Promise<Server> {
  const { host, http3Port } = config
  const settings = { host, port: http3Port, upstreamPort: server.ports['1.1'] }
  try {
    const front = await startHttp3Front({ ...settings, ...tls }, processTimers)
    return {
      ...server,
      async close() {
        await server.close()
        await front.close()
      },
    }
  } catch (error) {
    await server.close()
    throw error
  }
}

type Parts = Parameters<typeof startServer>[0]

interface FrontedParts extends Pick<Parts, 'config'> {
  readonly tls: PairFiles
}

async function certificateFor({ tls }: Config) {
  const { certFile, keyFile } = tls
  if (certFile !== null && keyFile !== null) {
    const { cert, key } = await loadCertificate({ certFile, keyFile }, new Date())
    return { cert, key, certFile, keyFile, advice: `Certificate: ${certFile}` }
  }
  const made = await ensureCertificate({ directory: join(root, 'certs'), now: new Date() })
  if (made.reason !== null) output.say('certificate-made', `A new certificate was created: ${made.reason}.`)
  const advice =
    'A browser does not know this certificate: accept it for now, or run\n  npm run trust  once, and your browsers trust it.'
  return { ...made, advice }
}

interface Greeted {
  readonly address: string
  readonly advice: string
  /** Null on an open server. */
  readonly links: InvitationLinks | null
}

function greeting(config: Config, { ports, workers }: Server, { address, advice, links }: Greeted): string {
  const { transport, http, host, sensor } = config
  const wind = {
    simulated: `simulated, ${sensor.strength}`,
    serial: `WindSonic on ${sensor.path}`,
    recorded: `recorded, ${sensor.file}`,
    remote: `from another server of the stream ${config.nats.stream}`,
    none: `none: --sensor-source simulated provides one,\n          npm run sensor -- --list  lists the ports of real ones`,
  }[sensor.source]
  const lines = [
    '',
    links === null
      ? `  Crosswind is running: open  ${address}  in two windows.`
      : `  Crosswind is running at ${address}, by invitation.`,
    '',
    `  Mode    ${transport} (HTTP/${http}); press Saved in a window to change it, or see crosswind.config.ts`,
    `  Ports   ${ports['2']} HTTP/2, ${ports['1.1']} HTTP/1.1 alone`,
    ...(ports['3'] === undefined ? [] : [`  HTTP/3  port ${ports['3']}, by Caddy`]),
    `  Wind    ${wind}`,
    ...(workers > 1 ? [`  Workers ${workers} processes serve the windows, one more has the log`] : []),
    ...(config.broker === 'nats'
      ? [`  Log     NATS, stream ${config.nats.stream} at ${config.nats.servers.join(', ')}`]
      : []),
    ...(config.broker === 'sqs'
      ? [
          `  Log     behind SQS, queue ${config.sqs.queue} at ${config.sqs.endpoint ?? `AWS, ${config.sqs.region}`}`,
        ]
      : []),
    '',
    `  ${advice}`,
  ]
  if (links !== null) lines.push(...invitationLines(links))
  else if (!isLoopback(host))
    lines.push('', '  Everyone who can reach this machine can read and write this page.')
  return `${lines.join('\n')}\n\n  Ctrl-C stops it.\n`
}

/** Links are shown to a person only: they would stay in a log. */
function invitationLines({ here, elsewhere }: InvitationLinks): readonly string[] {
  if (!process.stdout.isTTY) return ['', '  npm run invite  creates an invitation.']
  const onOthers = [
    '',
    '  On other devices, for the page main:',
    '',
    `    ${elsewhere}`,
    '',
    '  They warn of the certificate until they trust it (docs/operating.md, "Certificates"). Whoever has a link',
    '  may write until it ends: to revoke all links, delete access.key in the data folder and restart.',
  ]
  return [
    '',
    `  Invitations for ${invitedForHours} hours. On this computer, for every page:`,
    '',
    `    ${here}`,
    ...(elsewhere === null ? [] : onOthers),
  ]
}

/** Prints the reason if it fails. Never rejects. */
async function openBrowser(address: string): Promise<void> {
  const complain = (problem: string) =>
    output.say('browser-not-opened', `No browser was opened: ${problem}; open ${address} yourself.`)
  // On Windows not `start`: it ends the command at an "&" in the URL.
  const openers: Partial<Record<NodeJS.Platform, string[]>> = {
    darwin: ['open'],
    win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  }
  const [command = '', ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, address], { stdio: 'ignore', detached: true })
  // The browser may outlive this process.
  child.unref()
  try {
    const [code, signal] = await once(child, 'exit')
    if (code !== 0) complain(`${command} ended with ${signal ?? code}`)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    complain(`${command} ${isMissing ? 'is not installed' : 'could not be started'}`)
  }
}

async function stop(server: Server, { drainMs }: Config): Promise<void> {
  process.removeAllListeners('disconnect')
  const leaving = `Disconnecting windows; done within ${drainMs / 1000} s.`
  output.say('stopping', leaving, { drainMs }, `\n  ${leaving}`)
  const stoppedAt = performance.now()
  // A second signal exits at once, unless it is a duplicate to the process group.
  const insist = () => {
    if (performance.now() - stoppedAt > 500) process.exit(1)
  }
  for (const signal of signals) process.removeAllListeners(signal).on(signal, insist)
  await server.close()
  output.say('stopped', 'Stopped.')
  for (const signal of signals) process.removeListener(signal, insist)
  if (process.connected) process.disconnect?.()
  // Handles may remain: ports are closed, the log is written.
  setTimeout(() => process.exit(), 200).unref()
}
