// Keystrokes between network namespaces with wrong clocks; as a program, the far one's relays.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ensureCertificate } from '../../certs/certificate.ts'
import { endsWithin } from '../../scripts/process.ts'
import { openEditingPage } from '../browser/editing.ts'
import { parseCsv } from '../lab/csv.ts'
import { startLink } from '../network/delay-link.ts'
import { profiles } from '../network/profiles.ts'
import { readCompressed } from '../report/render.ts'
import type { Summary } from '../scenarios/keystrokes-report.ts'

const execute = promisify(execFile)
const ip = (...words: string[]) => execute('ip', words, { timeout: 10_000 })

/** The lab's address, as both hosts know it. RFC 1918; it exists only in the namespaces. */
const labAddress = '10.203.0.1'
const firstPort = 8500
const runWithinMs = 240_000

/** Why hosts cannot be created here; null if they can. */
export async function whyNoHosts(): Promise<string | null> {
  if (process.platform !== 'linux') return 'network namespaces exist only on Linux'
  const name = `crosswind-${process.pid}`
  try {
    await ip('netns', 'add', name)
    await ip('netns', 'delete', name)
    return null
  } catch (error) {
    const [, sentence = String(error)] = String(error).trim().split('\n')
    return `\`ip netns add\` failed; it needs root and the package iproute2: ${sentence}`
  }
}

interface Plan {
  /** Added in each direction between the far host and the lab, ms. */
  readonly addedMs: number
  /** How far off each host's clock is, ms. */
  readonly wrongMs: { readonly near: number; readonly far: number }
  /** Further flags of `lab -- keystrokes`. */
  readonly flags: readonly string[]
  readonly out: string
}

/**
 * Runs the lab with server and typing window on one host, and two devices on two others. Resolves
 * to the summary, whose last two windows are the near and the far device.
 */
export async function measureOnHosts({ addedMs, wrongMs, flags, out }: Plan) {
  await using opened = new AsyncDisposableStack()
  const hosts = { lab: name('lab'), near: name('near'), far: name('far') }
  for (const host of Object.values(hosts)) {
    await ip('netns', 'add', host)
    opened.defer(async () => void (await ip('netns', 'delete', host)))
    await ip('-n', host, 'link', 'set', 'lo', 'up')
  }
  await ip('-n', hosts.lab, 'address', 'add', `${labAddress}/32`, 'dev', 'lo')
  await connect(hosts.lab, hosts.near, 1)
  await connect(hosts.lab, hosts.far, 2)
  await ip('-n', hosts.near, 'route', 'add', labAddress, 'via', gateway(1))
  await delayFar(hosts.far, addedMs, opened)

  const folder = await mkdtemp(join(tmpdir(), 'crosswind-hosts-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  // Not the one in certs/, which would be replaced for this address.
  await ensureCertificate({
    directory: folder,
    now: new Date(),
    names: ['localhost'],
    addresses: [labAddress, '127.0.0.1'],
  })
  const lab = spawn('ip', [
    'netns',
    'exec',
    hosts.lab,
    process.execPath,
    join(import.meta.dirname, '../lab-command.ts'),
    'keystrokes',
    '--join',
    '2',
    '--host',
    labAddress,
    '--listen',
    '0.0.0.0',
    '--port',
    String(firstPort),
    '--tls-cert-file',
    join(folder, 'server.pem'),
    '--tls-key-file',
    join(folder, 'server.key'),
    '--out',
    out,
    ...flags,
  ])
  const exited = once(lab, 'exit')
  opened.defer(async () => {
    lab.kill('SIGTERM')
    if (!(await endsWithin(exited, 15_000))) lab.kill('SIGKILL')
  })
  let said = ''
  const link = Promise.withResolvers<string>()
  for (const stream of [lab.stdout, lab.stderr])
    stream.on('data', (chunk) => {
      said += chunk
      const [found] = /https:\S+\/lab\/join/.exec(said) ?? []
      if (found) link.resolve(found)
    })
  void exited.then(() => link.reject(new Error(`The lab ended:\n${said}`)))
  const address = await link.promise
  for (const host of ['near', 'far'] as const) {
    const page = await openEditingPage('chromium', address, {
      clockShiftMs: wrongMs[host],
      through: ['ip', 'netns', 'exec', hosts[host]],
    })
    opened.defer(page.close)
    // The near host is device 1.
    await page.page.waitForFunction(() => document.querySelector('#device')?.textContent !== '')
  }
  if (!(await endsWithin(exited, runWithinMs)))
    throw new Error(`The lab took longer than ${runWithinMs / 60_000} minutes.`)
  if (lab.exitCode !== 0) throw new Error(`The lab failed:\n${said}`)
  const summary: Summary = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  const [near, far] = summary.details.windows.slice(-2)
  if (!near || !far) throw new Error('The report has no devices.')
  const receivers = { near: near.receiver, far: far.receiver }
  const delays = fastestOf(await readCompressed(join(out, 'samples.csv.gz')), receivers)
  return { summary, near, far, delays, boundMs: near.boundMs + far.boundMs }
}

const name = (host: string) => `crosswind-${process.pid}-${host}`
const gateway = (subnet: number) => `10.203.${subnet}.1`

async function connect(lab: string, host: string, subnet: number): Promise<void> {
  const near = `cw${subnet}lab`
  const far = `cw${subnet}host`
  await ip('link', 'add', near, 'netns', lab, 'type', 'veth', 'peer', 'name', far, 'netns', host)
  for (const [namespace, device, last] of [
    [lab, near, 1],
    [host, far, 2],
  ] as const) {
    await ip('-n', namespace, 'address', 'add', `10.203.${subnet}.${last}/24`, 'dev', device)
    await ip('-n', namespace, 'link', 'set', device, 'up')
  }
}

/** The far host takes the lab's address as its own; relays listen on it. */
async function delayFar(far: string, addedMs: number, opened: AsyncDisposableStack): Promise<void> {
  await ip('-n', far, 'address', 'add', `${labAddress}/32`, 'dev', 'lo')
  const relays = spawn(
    'ip',
    ['netns', 'exec', far, process.execPath, import.meta.filename, String(addedMs)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  opened.defer(() => void relays.kill('SIGKILL'))
  await Promise.race([
    once(relays.stdout, 'data'),
    once(relays, 'exit').then(() => Promise.reject(new Error("The far host's relays ended."))),
  ])
}

/** Runs in the far host: delays each of the lab's ports. Ends with its standard input. */
async function relay(addedMs: number): Promise<void> {
  const delay = { ...profiles.loopback.up, floorMs: addedMs }
  const profile = { ...profiles.loopback, up: delay, down: delay }
  for (const port of [firstPort, firstPort + 1, firstPort + 2])
    await startLink({
      targetHost: gateway(2),
      targetPort: port,
      listen: { host: labAddress, port },
      profile,
      random: Math.random,
    })
  process.stdin.resume().once('end', () => process.exit(0))
  process.stdout.write('ready\n')
}

/**
 * Each device's fastest sample by mode, ms. The slower ones show how busy the machine was; the delay of
 * a path is estimated from the fastest, as in NTP (RFC 5905 §10).
 */
function fastestOf(samples: string, { near, far }: { readonly near: number; readonly far: number }) {
  return [...Map.groupBy(parseCsv(samples), ({ mode = '' }) => mode)].map(([name, inMode]) => {
    const fastest = (window: number) =>
      Math.min(
        ...inMode
          .filter(({ receiver, transmissionMs }) => receiver === String(window) && transmissionMs !== '')
          .map(({ transmissionMs }) => Number(transmissionMs)),
      )
    const nearMs = fastest(near)
    const farMs = fastest(far)
    return { mode: name, nearMs, farMs, addedMs: farMs - nearMs }
  })
}

if (import.meta.main) await relay(Number(process.argv[2]))
