// EventSource down, XHR up.

import { openStream } from './stream.ts'
import type { Opening, OpenTransport, WebTransport } from './transport.ts'
import { createXhrUplink } from './xhr-uplink.ts'

export const sse: WebTransport = { name: 'sse', open: openSse }

function openSse(opening: Opening): OpenTransport {
  const uplink = createXhrUplink(opening)
  const closeStream = openStream('/api/stream', {
    ...opening,
    onClose(closing) {
      uplink.close()
      opening.onClose(closing)
    },
  })
  return {
    send: uplink.send,
    beat: uplink.beat,
    askClock: uplink.askClock,
    close() {
      closeStream()
      uplink.close()
    },
  }
}
