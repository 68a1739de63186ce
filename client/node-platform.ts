// What a connection has in Node by default.

import { debug as tracing } from './debug.ts'
import type { ConnectOptions } from './follow.ts'
import { programs as platform } from './transports/programs.ts'

const sections = process.env.CROSSWIND_DEBUG
// Standard output is the program's.
const debug = sections ? tracing(sections, console.error) : undefined

export const inNode = <Options extends ConnectOptions>(options?: Options) =>
  ({ platform, debug, ...options }) as Options
