// A request that was answered before all of it had come: the rest is not read for ever.

import type { ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { Timers } from '../wire/time.ts'
import type { AnyRequest } from './connections.ts'

/** Cut at once, the other side would see its connection fail and not the answer, which it reads when it has sent. */
const lingerMs = 1000

export function endLeftover(
  request: AnyRequest,
  response: ServerResponse | Http2ServerResponse,
  timers: Pick<Timers, 'later'>,
): void {
  const finished: Pick<ServerResponse, 'once'> = response as ServerResponse
  finished.once('finish', () => {
    if (request.complete) return
    // Over HTTP/2 the answer stands by itself: NO_ERROR asks for an end of the rest (RFC 9113, section 8.1).
    if ('stream' in request) return void setImmediate(() => request.stream.close())
    const stop = timers.later(() => {
      if (!request.complete) request.socket.destroy()
    }, lingerMs)
    request.once('close', stop)
  })
}
