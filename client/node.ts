// The library's door in Node: the same, over fetch and WebSocket.

import { connectOver as over, connect as withAll } from './connect.ts'
import { programs as platform } from './transports/programs.ts'

export * from './connect.ts'

export const connect: typeof withAll = (url, options) => withAll(url, { platform, ...options })
export const connectOver: typeof over = (url, options) => over(url, { platform, ...options })
