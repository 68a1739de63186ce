// The flags of `keystrokes`, and the rules between them.

import { z } from 'zod'
import type { WindowMode } from '../../client/wire.ts'
import { isLoopback } from '../../scripts/addresses.ts'
import { flag, headed, names, seed, whole, words, wordsOnce } from '../lab/flags.ts'
import { machineFlags, refuseMachines } from '../lab/machines.ts'
import { editorNames, requireRoom, requireWindowModes, usualBaseline } from '../lab/mode-names.ts'
import { profilesFlag } from '../lab/testbed.ts'
import { peerWords, readPeers } from '../peers/peers.ts'

const refuse = (isWrong: boolean, sentence: string) => {
  if (isWrong) throw new Error(`${sentence}.`)
}

/** Refuses options that cannot be measured with a front, and modes that need one. */
function refuseFront(
  given: {
    readonly front: boolean
    readonly server?: string | undefined
    readonly remote: readonly string[]
    readonly join: number
    readonly host?: string | undefined
    readonly peers: readonly string[]
  },
  modes: readonly WindowMode[],
): void {
  const { front, server, remote, join, host, peers } = given
  const overUdp = modes.find(({ isOverUdp }) => isOverUdp)
  refuse(!front && overUdp !== undefined, `${overUdp?.name} needs a front: add --front`)
  const isElsewhere = server !== undefined || remote.length + join > 0 || host !== undefined
  refuse(
    front && (isElsewhere || peers.length > 0),
    'the front is before Crosswind’s own server on this machine: leave out --server, --remote, --join, --host and --peers, or --front',
  )
  const joining = modes.find(({ joinsConnection }) => joinsConnection)
  refuse(
    front && joining !== undefined,
    `a browser does not tell whether a front carries ${joining?.name}, or HTTP/1.1 in its place: leave that mode out, or --front`,
  )
}

export const quickFlags = '--until decided --limit 1 --sessions 3 --keys 30 --blocks 1 --warmup 5 --windows 3'

/** `--quick` has fewer. */
export const usual = { sessions: 5, keys: 200, blocks: 4, warmup: 10, windows: 5 } as const

export const keystrokesFlags = {
  quick: flag(
    z.boolean().default(false),
    '',
    `a first look of about one minute, which says what it cannot decide; short for ${quickFlags}`,
  ),
  modes: flag(words.default(['sse/2', 'sse/1.1', 'websocket/1.1']), 'LIST', 'modes to compare'),
  editor: flag(names(editorNames).default(['shared']), 'LIST', 'shared, mirror, or both'),
  growing: flag(
    z.boolean().default(false),
    '',
    'also measures documents of 200, 10,000 and 100,000 characters, in the baseline’s mode',
  ),
  sessions: flag(whole(1, 1000).default(usual.sessions), 'N', 'sessions; intervals need at least 2'),
  until: flag(
    z.enum(['decided'], 'must be decided').optional(),
    'decided',
    'measures more sessions until every difference that matters is decided',
  ),
  matters: flag(
    z
      .string()
      .regex(/^\d+(\.\d+)?(ms|%)$/, 'must be like 1ms or 5%')
      .default('5%'),
    'AMOUNT',
    'smallest difference that matters to --until: 1ms, or 5% of the mean compared with',
  ),
  limit: flag(whole(1, 10_000).default(60), 'MINUTES', 'longest run with --until'),
  keys: flag(whole(1, 10_000).default(usual.keys), 'N', 'keys per mode and session'),
  blocks: flag(whole(1, 100).default(usual.blocks), 'N', 'turns per mode and session'),
  warmup: flag(whole(0, 200).default(usual.warmup), 'N', 'uncounted keys before each turn'),
  interval: flag(whole(0, 10_000).default(50), 'MS', 'time between two keys'),
  baseline: flag(
    z.string().optional(),
    'MODE',
    'mode to compare the others with',
    'websocket/1.1, else the first mode',
  ),
  peers: flag(
    wordsOnce.default([]),
    'LIST',
    `also measures the same editor over other systems, taking turns with the modes: ${peerWords}`,
  ),
  windows: flag(whole(1, 50).default(usual.windows), 'N', 'simultaneously open windows'),
  ...machineFlags({
    remote: 'a share of the windows',
    join: 'each is an additional window',
    ports: 'of five with two editors',
  }),
  profile: profilesFlag,
  front: flag(
    z.boolean().default(false),
    '',
    'reaches Crosswind’s modes through Caddy, which also has HTTP/3; with --profile it needs Linux and root, since IP packets are carried',
  ),
  sensor: flag(
    z.enum(['none', 'simulated']).default('none'),
    'NAME',
    'none, or simulated: wind during the typing',
  ),
  seed,
  headed,
}

/** Throws one sentence for flags that contradict each other. */
export function readKeystrokes(given: z.output<z.ZodObject<typeof keystrokesFlags>>) {
  const { windows, remote, profile, server, join, host, until } = given
  const modes = requireWindowModes(given.modes)
  const peers = readPeers(given.peers)
  const isElsewhere = remote.length > 0 || join > 0 || host !== undefined
  refuse(given.keys < given.blocks, 'keys must be at least as many as blocks')
  refuse(
    until !== undefined && given.sessions < 3,
    'with --until or --quick, --sessions is a minimum of at least 3: two sessions may be alike by chance',
  )
  refuse(given.editor.length === 0, '--editor names no editor')
  refuse(
    given.editor.includes('mirror') &&
      (isElsewhere || server !== undefined || given.front || given.sensor !== 'none'),
    'the mirror editor is an application of its own, on this machine and without wind: leave it out of --editor, or leave out --server, --remote, --join, --host, --front and --sensor',
  )
  refuse(
    profile.length > 0 && (isElsewhere || server !== undefined),
    'a profile is simulated on this machine: leave out --server, --remote, --join and --host, or --profile',
  )
  refuseMachines(given)
  refuseFront(given, modes)
  refuse(
    peers.length > 0 && isElsewhere,
    'peers run on this machine: leave out --peers, or --remote, --join and --host',
  )
  const near = peers.find(({ address }) => address === undefined)
  refuse(
    near !== undefined && server !== undefined && !isLoopback(new URL(server).hostname),
    `${near?.name} of --peers would run on this machine, and the server at ${server} does not: name one that runs there, ${near?.name}=https://host:port, or leave out --server or --peers`,
  )
  const distant = peers.find(({ address }) => address !== undefined)
  refuse(
    profile.length > 0 && distant !== undefined,
    `--profile simulates a network for what runs on this machine: leave it out, or ${distant?.name} of --peers`,
  )
  refuse(
    profile.length > 1 && (peers.length > 0 || given.editor.length > 1 || given.growing),
    'several networks are compared with each other alone: leave out --peers, --growing and a second --editor, or name one --profile',
  )
  requireRoom(modes, windows, Math.ceil(windows / (remote.length + 1)))
  const { baseline = usualBaseline(given.modes) ?? given.modes[0] ?? '' } = given
  refuse(
    !given.modes.includes(baseline),
    `--baseline is "${baseline}", which is not among the modes ${given.modes.join(', ')}`,
  )
  const matters = {
    amount: Number.parseFloat(given.matters),
    isPercent: given.matters.endsWith('%'),
  }
  const { editor: editors, ...flags } = given
  return { ...flags, editors, peers, baseline, matters }
}

export type Options = ReturnType<typeof readKeystrokes>
