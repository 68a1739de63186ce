// What is measured: a mode of Crosswind or of a peer, at a server that speaks it.

import { type Mode, modeNamed, modes } from '../../server/wire/modes.ts'
import type { MeasuredServer } from './server-process.ts'

export interface Subject {
  /** `sse/2`, or for a peer `bare:sse/2`. */
  readonly name: string
  readonly mode: Mode
  readonly server: MeasuredServer
  /** A relay without a store: its page starts empty, and the lab puts the content of the block before into it. */
  readonly forgets: boolean
}

/** Where its windows are opened; all of one channel see each other. */
export function addressOf({ mode, server }: Subject, channel: string): string {
  const query = new URLSearchParams({ transport: mode.transport, http: mode.http, channel, record: '' })
  return `${server.origin[mode.http]}/?${query}`
}

/** Throws, naming the mode and those there are. */
export function requireMode(name: string): Mode {
  const mode = modeNamed(name)
  if (!mode)
    throw new Error(`--modes names "${name}"; there are ${modes.map((known) => known.name).join(', ')}.`)
  return mode
}
