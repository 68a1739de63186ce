// Clients without a browser: the window's transports in Node.

import { createHash, randomBytes } from 'node:crypto'
import { type Opening, type OpenTransport, transportsByName } from '../../client/index.ts'
import type { Draft } from '../../server/wire/messages.ts'
import { createNodePlatform, type NodePlatform } from './node-platform.ts'

export interface NodeOpening extends Opening {
  /** Trusted certificate, PEM; null trusts any. */
  readonly ca: string | null
  /** Session cookie, `name=value`. */
  readonly cookie?: string | undefined
}

export interface NodeTransport
  extends Required<OpenTransport>,
    Pick<NodePlatform, 'pause' | 'resume' | 'cut'> {}

/** The window's transport of that mode, over connections of its own. */
export function openTransport({ ca, cookie, ...opening }: NodeOpening): NodeTransport {
  const { mode, origin } = opening
  const platform = createNodePlatform(mode.http, origin, ca, cookie)
  const onClose: Opening['onClose'] = (closing) => {
    platform.close()
    opening.onClose(closing)
  }
  const transport = transportsByName[mode.transport].open({ ...opening, onClose }, platform)
  const { pause, resume, cut } = platform
  return {
    ...transport,
    ...{ pause, resume, cut },
    askClock: () => transport.askClock?.(),
    close() {
      transport.close()
      platform.close()
    },
  }
}

export function newKey(): string {
  return randomBytes(18).toString('base64url')
}

export function nameOf(key: string, suffix: string): string {
  return `${createHash('sha256').update(key).digest('base64url').slice(0, 22)}.${suffix}`
}

export function draftOf(window: string, count: number, html: string, channel = 'main'): Draft<'edit'> {
  return {
    id: `${window}-${count}`,
    channel,
    kind: 'edit',
    from: window,
    at: 1_700_000_000_000.5,
    body: { html },
  }
}
