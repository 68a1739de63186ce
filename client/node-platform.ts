// What a connection has in Node by default.

import { runtimeName } from '../protocol/runtimes.ts'
import { debug as tracing } from './debug.ts'
import type { ConnectOptions } from './follow.ts'
import { programs as platform } from './transports/programs.ts'

const sections = process.env.CROSSWIND_DEBUG
// Standard output is the program's.
const debug = sections ? tracing(sections, console.error) : undefined

/** Throws in a Node that is too old; the import does not, because it may render a page that connects in browsers. */
export function inNode<Options extends ConnectOptions>(options?: Options): Options {
  if (Number.parseInt(process.versions.node, 10) < 22)
    throw new Error(`@crosswind/client needs Node 22 or later. This is ${runtimeName(process.versions)}.`)
  return { platform, debug, ...options } as Options
}
