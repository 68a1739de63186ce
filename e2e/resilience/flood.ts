// Has a process of its own flood the server over one mode, and tells how that went.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { HttpVersion } from '../../server/wire/modes.ts'

export interface FloodOrder {
  readonly mode: string
  readonly origin: Readonly<Record<HttpVersion, string>>
  readonly ca: string
  readonly lastsMs: number
  /** The flooding window's name. */
  readonly window: string
}

export interface FloodOutcome {
  readonly sent: number
  readonly stored: number
  /** Refused for the moment. A stream that the server does not read on holds its sender back without a word. */
  readonly heldBack: number
  /** The connection ended before the answer. */
  readonly failed: number
}

export interface Flooder {
  /** Floods come one after the other. Resolves to what became of the messages, in words. */
  readonly flood: (order: FloodOrder) => Promise<string>
  readonly close: () => Promise<void>
}

/** Beside the time that the flood lasts: to open, and to answer. */
const graceMs = 5000

export async function startFlooder(): Promise<Flooder> {
  let child = await start()
  let turn: Promise<unknown> = Promise.resolve()

  async function flood(order: FloodOrder): Promise<string> {
    child.send(order)
    const answer = await answerOf(child, order.lastsMs + graceMs)
    if (answer !== null) return answer
    await end(child)
    child = await start()
    return 'no end in time'
  }

  return {
    flood(order) {
      const done = turn.then(() => flood(order))
      turn = done.catch(() => undefined)
      return done
    },
    close: () => end(child),
  }
}

async function start(): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'flooder.ts'), [], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  await once(child, 'message')
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** Null when none came in time, or the process ended. */
async function answerOf(child: ChildProcess, withinMs: number): Promise<string | null> {
  const ending = AbortSignal.timeout(withinMs)
  try {
    const [{ outcome, failure }] = (await once(child, 'message', { signal: ending })) as [
      { outcome?: FloodOutcome; failure?: string },
    ]
    return outcome ? wordsFor(outcome) : (failure ?? 'no outcome')
  } catch {
    // Told by the null: it is one more way for a flood to end.
    return null
  }
}

function wordsFor({ sent, stored, heldBack, failed }: FloodOutcome): string {
  return `${sent} sent, ${stored} stored, ${heldBack} held back, ${failed} cut off`
}
