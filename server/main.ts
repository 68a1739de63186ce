// Entry point of the server: reads the configuration, starts, says where to go, and ends in order on a signal.

import { join, relative } from 'node:path'
import { ensureCertificate } from '../certs/certificate.ts'
import { loadCertificate } from '../certs/load.ts'
import { type Config, loadConfig } from './config/config.ts'
import { leaveWhenDone } from './leave.ts'
import { isLoopback, isOpenTo } from './security/openness.ts'
import { type Server, startServer } from './server.ts'

/** Two signals closer together than this are one. */
const sameSignalMs = 500

const root = join(import.meta.dirname, '..')

leaveWhenDone()
try {
  await run()
} catch (error) {
  console.error(`Crosswind did not start. ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}

async function run(): Promise<void> {
  const config = await loadConfig({ argv: process.argv.slice(2), env: process.env, cwd: root })
  const certificate = await certificateFor(config)
  const server = await startServer({ config, tls: certificate, webFolder: join(root, 'web/dist'), root })
  console.log(greeting(config, server, certificate.advice))
  // A parent process that started this one (the lab, a test) learns the ports this way.
  process.send?.({ type: 'ready', ports: server.ports })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop(server, config))
  // Without the parent that started it nobody would ever stop it.
  process.once('disconnect', () => stop(server, config))
}

async function certificateFor({ tls }: Config) {
  const { certFile, keyFile } = tls
  if (certFile !== null && keyFile !== null) {
    return {
      ...(await loadCertificate({ certFile, keyFile, now: new Date() })),
      advice: `Certificate: ${certFile}`,
    }
  }
  const made = await ensureCertificate({ directory: join(root, 'certs'), now: new Date() })
  if (made.made !== 'nothing') console.log(`  A new certificate was made: ${made.reason}.`)
  const file = relative(process.cwd(), made.authorityFile)
  const advice = `A browser does not know this certificate: trust ${file} once\n  (README, "Certificates"), or accept it for now.`
  return { ...made, advice }
}

function greeting(config: Config, { ports }: Server, advice: string): string {
  const { transport, http, host, sensor } = config
  const isEverywhere = host === '0.0.0.0' || host === '::'
  const name = isEverywhere ? 'localhost' : host
  const wind = {
    simulated: `simulated, ${sensor.strength}`,
    serial: `WindSonic on ${sensor.path}`,
    recorded: `recorded, ${sensor.file}`,
    none: 'none',
  }[sensor.source]
  const lines = [
    '',
    `  Crosswind is running: open  https://${name}:${ports[http]}  in two windows.`,
    '',
    `  Mode    ${transport} (HTTP/${http}); change it in a window's menu or in crosswind.config.ts`,
    `  Ports   ${ports['2']} HTTP/2, ${ports['1.1']} HTTP/1.1 alone`,
    `  Wind    ${wind}`,
    '',
    `  ${advice}`,
  ]
  if (!isLoopback(host) || !isOpenTo(config)) lines.push('', `  ${whoMayComeIn(config)}`)
  return `${lines.join('\n')}\n\n  Ctrl-C stops it.\n`
}

function whoMayComeIn(config: Config): string {
  return isOpenTo(config)
    ? 'Everyone who can reach this machine can read and write this page.'
    : 'It asks for an invitation:  npm run invite  makes a link.'
}

async function stop(server: Server, { drainMs }: Config): Promise<void> {
  process.removeAllListeners('disconnect')
  console.log(`\n  Sending windows away; done within ${drainMs / 1000} s.`)
  const stoppedAt = performance.now()
  // A second signal ends it at once; one that comes with the first, to a whole process group, is the same one.
  const insist = () => {
    if (performance.now() - stoppedAt > sameSignalMs) process.exit(1)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeAllListeners(signal).on(signal, insist)
  await server.close()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, insist)
  if (process.connected) process.disconnect?.()
}
