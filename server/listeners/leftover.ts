// A request that was answered before all of it had come: the rest is not read for ever.

import type { ServerResponse } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { Timers } from '../wire/time.ts'
import type { AnyRequest } from './connections.ts'

/** Over HTTP/1.1, ms. Cut at once, the other side would see its connection fail and not the answer, which it reads when it has sent. */
const lingerMs = 1000

export function endLeftover(
  request: AnyRequest,
  response: Pick<ServerResponse, 'once'>,
  timers: Pick<Timers, 'later'>,
): void {
  if ('stream' in request) endStream(request)
  else {
    response.once('finish', () => {
      if (request.complete) return
      const stop = timers.later(() => !request.complete && request.socket.destroy(), lingerMs)
      request.once('close', stop)
    })
  }
}

/** The answer stands by itself: NO_ERROR asks for an end of the rest (RFC 9113, section 8.1). */
function endStream(request: Http2ServerRequest): void {
  const { stream } = request
  // The response's own 'finish' comes when both sides have ended.
  stream.once('finish', () => {
    if (!request.complete) setImmediate(() => stream.close())
  })
}
