// The library's door in Node: the same, over fetch and WebSocket.

import { connectOver as over, connect as withAll } from './connect.ts'
import { inNode } from './node-platform.ts'

export * from './connect.ts'

export const connect: typeof withAll = (url, options) => withAll(url, inNode(options))
export const connectOver: typeof over = (url, options) => over(url, inNode(options))
