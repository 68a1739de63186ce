// `node e2e/windows/separate-hosts.ts`: keystrokes between network namespaces with wrong clocks.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ensureCertificate } from '../../certs/certificate.ts'
import { endsWithin, leaveWhenDone } from '../../server/process.ts'
import { openEditingPage } from '../browser/editing.ts'
import { textTable } from '../lab/terminal-output.ts'
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
  readonly print: (text: string) => void
}

/**
 * Runs the lab with server and typing window on one host, and two devices on two others. Resolves
 * to the summary, whose last two windows are the near and the far device. The delay is netem's, or
 * that of `e2e/network` if the kernel lacks it.
 */
export async function measureOnHosts({ addedMs, wrongMs, flags, out, print }: Plan) {
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
  const delayedBy = await delayFar(hosts, addedMs, opened)

  const folder = await mkdtemp(join(tmpdir(), 'crosswind-hosts-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  // Not the one in certs/, which would be replaced for this address.
  await ensureCertificate({
    ...{ directory: folder, now: new Date(), names: ['localhost'], addresses: [labAddress, '127.0.0.1'] },
  })
  const lab = spawn('ip', [
    ...[
      'netns',
      'exec',
      hosts.lab,
      process.execPath,
      join(import.meta.dirname, '../lab-command.ts'),
      'keystrokes',
    ],
    ...['--join', '2', '--host', labAddress, '--listen', '0.0.0.0', '--port', String(firstPort)],
    ...['--tls-cert-file', join(folder, 'server.pem'), '--tls-key-file', join(folder, 'server.key')],
    ...['--out', out, ...flags],
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
      print(String(chunk))
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
  const [near, far] = summary.windows.slice(-2)
  if (!near || !far) throw new Error('The report has no devices.')
  const receivers = { near: near.receiver, far: far.receiver }
  const delays = fastestOf(await readCompressed(join(out, 'samples.csv.gz')), receivers)
  return { summary, near, far, delays, delayedBy, boundMs: near.boundMs + far.boundMs }
}

const name = (host: string) => `crosswind-${process.pid}-${host}`
const gateway = (subnet: number) => `10.203.${subnet}.1`

async function connect(lab: string, host: string, subnet: number): Promise<void> {
  const [near, far] = [`cw${subnet}lab`, `cw${subnet}host`]
  await ip('link', 'add', near, 'netns', lab, 'type', 'veth', 'peer', 'name', far, 'netns', host)
  for (const [namespace, device, last] of [
    [lab, near, 1],
    [host, far, 2],
  ] as const) {
    await ip('-n', namespace, 'address', 'add', `10.203.${subnet}.${last}/24`, 'dev', device)
    await ip('-n', namespace, 'link', 'set', device, 'up')
  }
}

async function delayFar(
  { lab, far }: { readonly lab: string; readonly far: string },
  addedMs: number,
  opened: AsyncDisposableStack,
): Promise<'netem' | 'relays'> {
  const netem = (host: string, device: string) =>
    execute('tc', [...['-n', host, 'qdisc', 'add', 'dev', device, 'root', 'netem', 'delay', `${addedMs}ms`]])
  try {
    await netem(lab, 'cw2lab')
    await netem(far, 'cw2host')
    await ip('-n', far, 'route', 'add', labAddress, 'via', gateway(2))
    return 'netem'
  } catch {
    // The far host takes the lab's address as its own; relays listen on it.
    await ip('-n', far, 'address', 'add', `${labAddress}/32`, 'dev', 'lo')
    const relays = spawn(
      'ip',
      ['netns', 'exec', far, process.execPath, import.meta.filename, 'relays', String(addedMs)],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    )
    opened.defer(() => void relays.kill('SIGKILL'))
    await Promise.race([
      once(relays.stdout, 'data'),
      once(relays, 'exit').then(() => Promise.reject(new Error("The far host's relays ended."))),
    ])
    return 'relays'
  }
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
  const [head = '', ...lines] = samples.trim().split('\n')
  const place = (column: string) => head.split(',').indexOf(column)
  const [mode, receiver, time] = [place('mode'), place('receiver'), place('transmission_ms')]
  const rows = lines.map((line) => line.split(','))
  return [...Map.groupBy(rows, (row) => row[mode] ?? '')].map(([name, inMode]) => {
    const fastest = (window: number) =>
      Math.min(
        ...inMode
          .filter((row) => row[receiver] === String(window) && row[time] !== '')
          .map((row) => Number(row[time])),
      )
    const [nearMs, farMs] = [fastest(near), fastest(far)]
    return { mode: name, nearMs, farMs, addedMs: farMs - nearMs }
  })
}

async function main([addedWord = '20', ...flags]: readonly string[]): Promise<void> {
  const reason = await whyNoHosts()
  if (reason !== null) throw new Error(`Hosts cannot be created here: ${reason}`)
  const addedMs = Number(addedWord)
  if (!(addedMs >= 1 && addedMs <= 1000))
    throw new Error(`The delay is ${addedWord}; it must be from 1 to 1000 ms.`)
  const out = await mkdtemp(join(tmpdir(), 'crosswind-hosts-report-'))
  await rm(out, { recursive: true })
  const size = ['--sessions', '1', '--blocks', '2', '--windows', '1', '--keys', '60']
  const given = flags.length > 0 ? flags : size
  const print = (text: string) => void process.stdout.write(text)
  const wrongMs = { near: -3000, far: 70_000 }
  const found = await measureOnHosts({ addedMs, wrongMs, flags: given, out, print })
  console.log(
    `\n  The near host’s clock was ${wrongMs.near} ms off, the far host’s ${wrongMs.far} ms; ${addedMs} ms were added each way to the far host, by ${found.delayedBy}. The fastest sample of each:\n`,
  )
  const ms = (value: number) => value.toFixed(2)
  console.log(
    textTable(
      [
        ['mode', ({ mode }) => mode],
        ['near, ms', ({ nearMs }) => ms(nearMs)],
        ['far, ms', ({ farMs }) => ms(farMs)],
        ['difference, ms', ({ addedMs }) => ms(addedMs)],
      ],
      found.delays,
    ),
  )
  const isFound = found.delays.every((one) => Math.abs(one.addedMs - addedMs) <= found.boundMs)
  console.log(`\n  ${isFound ? 'Within' : 'NOT within'} the clocks’ bound of ± ${ms(found.boundMs)} ms.\n`)
  process.exitCode = isFound ? 0 : 1
}

if (import.meta.main) {
  const [first, ...rest] = process.argv.slice(2)
  leaveWhenDone()
  if (first === 'relays') await relay(Number(rest[0]))
  else await main(process.argv.slice(2))
}
