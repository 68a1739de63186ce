// The door for followers in Node: the same, over fetch and WebSocket.

import { connectOver as over, connect as withAll } from './follow.ts'
import { inNode } from './node-platform.ts'

export * from './follow.ts'

export const connect: typeof withAll = (url, options) => withAll(url, inNode(options))
export const connectOver: typeof over = (url, options) => over(url, inNode(options))
