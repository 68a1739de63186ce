import type { Socket } from 'node:net'

/**
 * Ends a connection by a reset (RFC 9293, 3.5.2). A connection that is already ending is closed
 * instead: Node's reset fails then, and leaves a handle with which the process never exits.
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy()
  else socket.resetAndDestroy()
}
