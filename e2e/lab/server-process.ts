// A server to measure: one started here as a process of its own, or one that runs elsewhere.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import https from 'node:https'
import type { Figures } from '../../server/monitor/figures.ts'
import type { HttpVersion } from '../../server/wire/modes.ts'

export interface MeasuredServer {
  /** Origin of each listener, `https://localhost:8443`. */
  readonly origin: Readonly<Record<HttpVersion, string>>
  /** What it has used so far. */
  readonly figures: () => Promise<Figures>
  readonly close: () => Promise<void>
}

/** A server that was started here, and can be ended in more ways than one. */
export interface StartedServer extends MeasuredServer {
  /** As a crash would: without a word. Resolves when it is gone. */
  readonly kill: () => Promise<void>
  /** Resolves when it has ended, whoever ended it. */
  readonly exited: Promise<void>
  /** The last of what it wrote to its standard error. */
  readonly errors: () => string
}

export type Ports = Readonly<Record<HttpVersion, number>>

const startWithinMs = 20_000
const stopWithinMs = 8000
const mostErrors = 20_000

/** Starts a program that says `{ type: 'ready', ports }` to its parent. Rejects with what it wrote when it ends before. */
export async function startServerProcess(program: string, args: readonly string[]): Promise<StartedServer> {
  const child = fork(program, args, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  const exited = once(child, 'exit').then(() => undefined)
  let errors = ''
  child.stderr?.on('data', (chunk) => {
    errors = `${errors}${chunk}`.slice(-mostErrors)
  })
  const ports = await readyPorts(child, program)
  const origin = { '2': `https://localhost:${ports['2']}`, '1.1': `https://localhost:${ports['1.1']}` }
  return {
    origin,
    figures: () => readFigures(origin['1.1']),
    close: () => stop(child),
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    exited,
    errors: () => errors,
  }
}

async function readyPorts(child: ChildProcess, program: string): Promise<Ports> {
  let written = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      written = `${written}${chunk}`.slice(-4000)
    })
  const ending = new AbortController()
  const timeout = setTimeout(() => child.kill('SIGKILL'), startWithinMs)
  const exited = once(child, 'exit', { signal: ending.signal }).then(() => {
    throw new Error(`${program} ended before it was ready:\n${written}`)
  })
  const ready = once(child, 'message', { signal: ending.signal }).then(
    ([message]) => message as { ports: Ports },
  )
  try {
    return (await Promise.race([ready, exited])).ports
  } finally {
    clearTimeout(timeout)
    ending.abort()
    for (const waiting of [ready, exited]) waiting.catch(() => undefined)
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timeout = setTimeout(() => child.kill('SIGKILL'), stopWithinMs)
  await exited
  clearTimeout(timeout)
}

/** A server that somebody else runs; its address is that of its HTTP/2 port. Rejects when it does not answer as one. */
export async function joinServer(address: string): Promise<MeasuredServer> {
  const { protocol, hostname, origin: given } = new URL(address)
  const { ports } = await getJson<{ ports: Ports }>(`${given}/api/settings`)
  const origin = {
    '2': `${protocol}//${hostname}:${ports['2']}`,
    '1.1': `${protocol}//${hostname}:${ports['1.1']}`,
  }
  return { origin, figures: () => readFigures(origin['1.1']), close: async () => undefined }
}

function readFigures(origin: string): Promise<Figures> {
  return getJson<Figures>(`${origin}/api/figures`)
}

/** The lab measures; it does not check whom it measures: a local certificate is as good as any here. */
function getJson<Answer>(address: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = https.get(address, { rejectUnauthorized: false, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(text))
        else reject(new Error(`${address} answered ${response.statusCode}: is it a Crosswind server?`))
      })
    })
    request.on('error', (cause) =>
      reject(new Error(`${address} does not answer: ${cause.message}`, { cause })),
    )
  })
}
