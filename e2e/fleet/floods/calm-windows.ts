// Two ordinary windows that write to each other at a fixed pace, whatever else happens at their server.

import { setTimeout as delay } from 'node:timers/promises'
import { type Mode, modeNamed } from '../../../server/wire/modes.ts'
import { draftOf, type FleetClient, openClient } from '../client.ts'
import type { FloodedServer } from './processes.ts'

const paceMs = 20

export interface CalmWindows {
  /**
   * Ms from when a message was due to when the other window had it, sorted, of those since the last call. Resolves when a
   * message has arrived that was due after now, so that those held up until now are among them.
   */
  readonly takeLatencies: () => Promise<number[]>
  /** Stops writing; resolves, when all has arrived, to what was sent and what each window saw of it, in order. */
  readonly finish: () => Promise<{
    readonly sent: readonly string[]
    readonly seen: readonly (readonly string[])[]
  }>
  /** Why a window was closed, if one was. */
  readonly closings: () => readonly string[]
  readonly close: () => void
}

interface Calm {
  readonly name: string
  readonly client: FleetClient
  readonly seen: string[]
}

export async function openCalmWindows({ origin, ca }: FloodedServer, modeNames: readonly string[]) {
  const closings: string[] = []
  const windows = modeNames.map((modeName, index): Calm => {
    const mode = requireMode(modeName)
    const name = `calm${index}`
    const query = new URLSearchParams({ window: name, channels: 'calm' })
    const client = openClient({ mode, origin: origin[mode.http], query, ca })
    client.ended.then(({ sentence }) => closings.push(`${modeName}: ${sentence}`))
    return { name, client, seen: [] }
  })
  for (const { client } of windows) await client.next('welcome')

  const sent: string[] = []
  const dueAt = new Map<string, number>()
  const arrivals = new Set<() => void>()
  let latencies: number[] = []
  let isWriting = true

  async function read({ name, client, seen }: Calm): Promise<void> {
    for (;;) {
      const { message } = await client.next('message')
      if (message.from !== name) latencies.push(performance.now() - (dueAt.get(message.id) ?? 0))
      seen.push(message.id)
      for (const check of arrivals) check()
    }
  }

  /** At its time, not when the message before was answered: a stall is felt by all that were due in it. */
  async function write(): Promise<void> {
    const startedAt = performance.now()
    for (let count = 1; isWriting; count += 1) {
      const due = startedAt + count * paceMs
      await delay(Math.max(0, due - performance.now()))
      const window = windows[count % windows.length]
      if (!window) continue
      const draft = draftOf(window.name, count, `text ${count}`, 'calm')
      dueAt.set(draft.id, due)
      sent.push(draft.id)
      window.client.send(draft).catch((error) => closings.push(`${window.name} could not send: ${error}`))
    }
  }

  const reading = windows.map((window) => read(window).catch(() => undefined))
  const ended = Promise.all(reading)
  const writing = write()
  const hasAll = () => windows.every(({ seen }) => seen.length >= sent.length)

  const calm: CalmWindows = {
    async takeLatencies() {
      const count = sent.length + 1
      await Promise.race([ended, waitFor(() => windows.every(({ seen }) => seen.length >= count), arrivals)])
      const taken = latencies.sort((a, b) => a - b)
      latencies = []
      return taken
    },
    async finish() {
      isWriting = false
      await writing
      await Promise.race([ended, waitFor(hasAll, arrivals)])
      return { sent, seen: windows.map(({ seen }) => seen) }
    },
    closings: () => closings,
    close() {
      isWriting = false
      for (const { client } of windows) client.close()
    },
  }
  return calm
}

function waitFor(isTrue: () => boolean, changes: Set<() => void>): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isTrue()) return
      changes.delete(check)
      resolve()
    }
    changes.add(check)
    check()
  })
}

function requireMode(name: string): Mode {
  const mode = modeNamed(name)
  if (!mode) throw new Error(`There is no mode named ${name}.`)
  return mode
}
