// Server-sent events down, one POST per message up; request streaming shares the EventSource part.

import type { DownFrame } from '../../protocol/messages.ts'
import { sseModes } from '../../protocol/modes.ts'
import { now } from '../browser-services.ts'
import { asClosing, createPostUplink, postLeave } from './http.ts'
import {
  browser,
  type ChosenTransport,
  closingOf,
  type Opening,
  type OpenTransport,
  type Platform,
} from './transport.ts'

export const sse: ChosenTransport = { name: 'sse', modes: sseModes, open: openSse }

function openSse(opening: Opening, platform = browser): OpenTransport {
  const uplink = createPostUplink(opening, platform)
  const onClose: Opening['onClose'] = (closing) => {
    uplink.close()
    opening.onClose(closing)
  }
  const closeStream = openStream('/stream', { ...opening, onClose }, platform)
  return {
    ...uplink,
    close(isForGood) {
      closeStream()
      uplink.close()
      postLeave(opening, platform, isForGood)
    },
  }
}

const frameTypes = [
  'welcome',
  'message',
  'volatile',
  'presence',
  'awareness',
  'bye',
  'omitted',
  'heartbeat',
  'stored',
  'refused',
  'clock',
] as const

/** Returns a close function. Calls `onClose` once, after `bye` or a loss. */
export function openStream(
  path: string,
  { base, query, onFrame, onClose }: Opening,
  platform: Pick<Platform, 'openEvents'>,
): () => void {
  const source = platform.openEvents(`${base}${path}?${query}`)

  for (const type of frameTypes) {
    source.addEventListener(type, (event: MessageEvent<string>) => {
      const receivedAt = now()
      const frame = parseFrame(type, event.data)
      onFrame(frame, receivedAt)
      if (frame.type !== 'bye') return
      source.close()
      onClose(closingOf(frame))
    })
  }
  source.addEventListener('error', (event) => {
    // EventSource gives up on a 5xx and forgets the cursor, so the link reopens instead.
    source.close()
    // A browser does not give the reason.
    onClose(asClosing((event as ErrorEvent).error))
  })
  return () => source.close()
}

function parseFrame(type: (typeof frameTypes)[number], data: string): DownFrame {
  const content = JSON.parse(data)
  return type === 'message' ? { type, message: content } : { type, ...content }
}
