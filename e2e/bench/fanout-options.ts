// What `bench fanout` can be told, checked before anything starts.

import { z } from 'zod'
import { type Mode, modeNamed, modes } from '../../server/wire/modes.ts'
import { peerNames } from '../load/target.ts'
import { readFlags, whole, wholeText, words } from './flags.ts'

const perBrowser = words.pipe(z.array(wholeText(1, 1000)).min(1, 'names no number'))

const schema = z.object({
  modes: words.default(['all']),
  windows: whole(1, 20_000).default(200),
  rate: whole(1, 10_000).default(50),
  seconds: whole(1, 600).default(5),
  'per-browser': perBrowser.default([1, 10]),
  peers: words
    .pipe(z.array(z.enum(peerNames, `there are ${new Intl.ListFormat('en-GB').format(peerNames)}`)))
    .default(['ws', 'socket.io']),
  rounds: whole(1, 100).default(5),
  warmup: whole(0, 60_000).default(500),
  json: z.string().min(1).optional(),
})

export const fanoutHelp = `npm run bench -- fanout [flags]

  One window writes, all receive: what a delivered message costs the server's processor, and how late it comes.
  Every mode and peer has a server process of its own; they take turns, in another order each round.

  --modes LIST         modes of Crosswind, or all           all
  --peers LIST         ws, socket.io, http2, or nothing ("")  ws,socket.io
  --windows N          windows that receive                 200
  --rate N             messages a second                    50
  --seconds N          seconds measured of each             5
  --rounds N           turns that they are split into       5
  --warmup MS          of messages before each turn, not counted   500
  --per-browser LIST   windows that share an HTTP/2 session 1,10
  --json FILE          write the figures there too

  CPU is the server process's own, over the measured interval, for each message at each window: the median of the
  rounds. Latency counts from the moment a message was due. Ratios are to the bare \`ws\` relay of e2e/peers/ws, that
  of CPU within each round and then their median. A busy machine shows in the ranges: take more rounds, or wait.
`

export interface FanoutOptions extends Omit<z.output<typeof schema>, 'modes' | 'per-browser'> {
  readonly modes: readonly Mode[]
  readonly perBrowser: readonly number[]
}

/** Throws one sentence that names the flag, the value and what is allowed. */
export function readFanoutOptions(argv: readonly string[]): FanoutOptions {
  const { modes: names, 'per-browser': perBrowser, ...rest } = readFlags(schema, argv)
  const options = { ...rest, perBrowser, modes: modesNamed(names) }
  const messages = options.rate * options.seconds
  if (messages < options.rounds)
    throw new Error(`--rounds is ${options.rounds}: there are only ${messages} messages to split.`)
  return options
}

export function modesNamed(names: readonly string[]): readonly Mode[] {
  if (names.includes('all')) return modes
  return names.map((name) => {
    const mode = modeNamed(name)
    if (mode) return mode
    throw new Error(`--modes names "${name}"; there are all, ${modes.map((known) => known.name).join(', ')}.`)
  })
}
