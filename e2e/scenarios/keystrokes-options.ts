// What the keystroke scenario can be told, checked before anything starts.

import { z } from 'zod'
import { whole, words } from '../bench/flags.ts'
import { requireMode } from '../lab/subject.ts'
import { readFlags } from './flags.ts'

const schema = z
  .strictObject({
    modes: words.default(['sse/2', 'sse/1.1', 'websocket/1.1']),
    windows: whole(1, 50).default(5),
    keys: whole(1, 10_000).default(200),
    blocks: whole(1, 100).default(4),
    warmup: whole(0, 200).default(10),
    interval: whole(0, 10_000).default(50),
    baseline: z.string().optional(),
    peers: words.default([]),
    server: z.url({ protocol: /^https$/, error: 'must be an https address, https://host:8443' }).optional(),
    remote: z
      .array(z.url({ protocol: /^https?$/, error: 'must be a WebDriver address, http://laptop:4444' }))
      .default([]),
    sensor: z.enum(['none', 'simulated']).default('none'),
    out: z.string().min(1).optional(),
    headed: z.boolean().default(false),
    help: z.boolean().default(false),
  })
  .refine(({ keys, blocks }) => keys >= blocks, 'keys must be at least as many as blocks')
  .refine(
    ({ peers, server }) => peers.length === 0 || server === undefined,
    'peers run on this machine: leave out --server or --peers',
  )

export type KeystrokeOptions = z.output<typeof schema>

export const keystrokesHelp = `npm run lab -- keystrokes [flags]

  Opens windows in real Chromium, types into one, and times each message's way to every window.

  --modes LIST      modes to compare, in turns       sse/2,sse/1.1,websocket/1.1
  --windows N       windows open at a time           5
  --keys N          keys of each mode                200
  --blocks N        turns that they are split into   4
  --warmup N        keys before each turn, left out  10
  --interval MS     from key to key                  50
  --baseline MODE   what the others are compared to  websocket/1.1, else the first mode
  --peers bare      measure a bare relay page too, in the same run
  --server URL      a server that runs elsewhere     one started for the run
  --remote URL      a WebDriver on another machine; windows are dealt out in turn; repeatable
  --sensor NAME     none, or simulated wind beside the typing
  --out DIR         the report's folder              reports/<date>-keystrokes
  --headed          show the windows
`

/** Throws one sentence that names the flag, the value and what is allowed. */
export function readKeystrokeOptions(argv: readonly string[]): KeystrokeOptions {
  const options = readFlags(schema, argv, {
    remote: { type: 'string', multiple: true },
    headed: { type: 'boolean' },
  })
  for (const mode of options.modes) requireMode(mode)
  return checked(options)
}

function checked(options: KeystrokeOptions): KeystrokeOptions {
  const { modes, peers, baseline } = options
  if (modes.length === 0) throw new Error('--modes names no mode.')
  const unknown = peers.find((peer) => peer !== 'bare')
  if (unknown !== undefined) throw new Error(`--peers names "${unknown}"; there is bare.`)
  if (baseline !== undefined && !modes.includes(baseline)) {
    throw new Error(`--baseline is "${baseline}", which is not among the modes ${modes.join(', ')}.`)
  }
  refuseTooMany(options)
  return options
}

/** A window too many would hang without an error, and the run with it. */
function refuseTooMany({ modes, windows, remote }: KeystrokeOptions): void {
  const perBrowser = Math.ceil(windows / (remote.length + 1))
  const crowded = modes.map(requireMode).find((mode) => perBrowser > (mode.windowsPerBrowser ?? perBrowser))
  if (!crowded) return
  const { name, windowsPerBrowser } = crowded
  throw new Error(
    `--windows is ${windows}: ${name} carries ${windowsPerBrowser} windows of one browser; leave that mode out, or add a --remote.`,
  )
}

export function baselineOf({ baseline, modes }: KeystrokeOptions): string {
  return baseline ?? modes.find((mode) => mode === 'websocket/1.1') ?? modes[0] ?? ''
}
