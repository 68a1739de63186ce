// The library's door in Node: the same, over fetch and WebSocket.

import { connectOver as over, connect as withAll } from './connect.ts'
import { debug as tracing } from './debug.ts'
import { programs as platform } from './transports/programs.ts'

export * from './connect.ts'

const sections = process.env.CROSSWIND_DEBUG
// Standard output is the program's.
const debug = sections ? tracing(sections, console.error) : undefined

export const connect: typeof withAll = (url, options) => withAll(url, { platform, debug, ...options })
export const connectOver: typeof over = (url, options) => over(url, { platform, debug, ...options })
