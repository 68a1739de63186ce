// One connection with a session on a manual clock.

import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { createManualTime } from '../../protocol/testing.ts'
import { Connection } from './http-connection.ts'

export const heartbeatMs = 1000
export const requestMs = 4000

/**
 * A session with one stream, checked four times per heartbeat interval; answers PINGs if `answers`.
 */
export function watching(answers = true) {
  const time = createManualTime()
  /** Events on the connection, in order. */
  const done: string[] = []
  const socket = { bytesRead: 0, bytesWritten: 0, destroy: () => void done.push('cut') }
  const stream = { bufferSize: 0, close: () => void done.push('stream closed') }
  const session = {
    closed: false,
    destroyed: false,
    state: { remoteWindowSize: 65_535 },
    ping() {
      if (answers) socket.bytesRead += 17
    },
    goaway: () => void done.push('goaway'),
    close() {
      session.closed = true
      done.push('closed')
    },
    destroy() {
      session.destroyed = true
      done.push('destroyed')
    },
  }
  const limits = { heartbeatMs, bodySeconds: requestMs / 1000, streamsPerSession: 10 }
  const connection = new Connection(socket as unknown as Socket, limits, time.now())
  connection.streams.add(stream as unknown as ServerHttp2Stream)
  Object.assign(connection, { session, secure: {} })
  const check = () => {
    connection.check(time.now())
    time.later(check, heartbeatMs / 4)
  }
  time.later(check, heartbeatMs / 4)
  return { time, done, socket, stream, session, connection }
}
