// The library's door in Node: the same, over fetch and WebSocket.

import { runtimeName } from '../protocol/runtimes.ts'
import { connectOver as over, connect as withAll } from './connect.ts'
import { debug as tracing } from './debug.ts'
import { programs as platform } from './transports/programs.ts'

export * from './connect.ts'

const sections = process.env.CROSSWIND_DEBUG
// Standard output is the program's.
const debug = sections ? tracing(sections, console.error) : undefined

/** Not when it is imported: older Nodes may render a page that connects in browsers. */
function requireNode(): void {
  if (Number.parseInt(process.versions.node, 10) >= 22) return
  throw new Error(`@crosswind/client needs Node 22 or later. This is ${runtimeName(process.versions)}.`)
}

export const connect: typeof withAll = (url, options) => {
  requireNode()
  return withAll(url, { platform, debug, ...options })
}

export const connectOver: typeof over = (url, options) => {
  requireNode()
  return over(url, { platform, debug, ...options })
}
