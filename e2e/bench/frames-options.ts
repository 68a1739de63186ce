// What `bench frames` can be told, checked before anything starts.

import { z } from 'zod'
import { readFlags, whole } from './flags.ts'

const schema = z.object({
  frames: whole(1, 1_000_000).default(10_000),
  rounds: whole(1, 1000).default(21),
  piece: whole(1, 65_536).default(23),
  damage: whole(0, 100).default(1),
  seed: whole(0, 2 ** 32 - 1).default(1405),
  json: z.string().min(1).optional(),
})

export const framesHelp = `npm run bench -- frames [flags]

  What it costs to find and read a wind sensor's frames in the bytes that come, for each format, clean and damaged.

  --frames N    frames of each format in a turn          10000
  --rounds N    turns of each, in another order each     21
  --piece N     bytes that arrive together               23
  --damage N    of the damaged streams, bytes in 100     1
  --seed N      of winds and damage                      1405
  --json FILE   write the figures there too

  Microseconds of processor time for each frame that was sent, whether or not it could be read: the median of the rounds,
  the least and the most. Everything runs in this process, one turn after the other.
`

export type FramesOptions = z.output<typeof schema>

/** Throws one sentence that names the flag, the value and what is allowed. */
export function readFramesOptions(argv: readonly string[]): FramesOptions {
  return readFlags(schema, argv)
}
