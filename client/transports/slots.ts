// All transports by name; a browser's windows share the few HTTP/1.1 connections.

import type { TransportName } from '../../protocol/modes.ts'
import { longPolling, polling } from './polling.ts'
import { sse } from './sse.ts'
import { streaming } from './streaming.ts'
import type {
  ChosenTransport,
  Closing,
  Opening,
  OpenTransport,
  Transports,
  WebTransport,
} from './transport.ts'
import { websocket } from './websocket.ts'

const full: Closing = {
  code: 'full',
  sentence: 'Other windows of this browser hold all the connections that it opens over HTTP/1.1.',
  retryAfterMs: null,
}

/**
 * In a mode with `windowsPerBrowser` an opening takes one of that many slots or ends with `full`. A
 * slot is a Web Lock, which the browser releases even if the window crashes. Without locks there is
 * no limit.
 */
export function limitToSlots(
  real: Transports,
  locks: Pick<LockManager, 'request'> | null = navigator.locks ?? null,
): Transports {
  if (!locks) return real
  const takeSlot = createSlots(locks)
  const limit = (transport: WebTransport): WebTransport => ({
    name: transport.name,
    open(opening) {
      const { windowsPerBrowser } = opening.mode
      if (windowsPerBrowser === null) return transport.open(opening)
      return openInSlot(transport, opening, takeSlot(new URL(opening.base).origin, windowsPerBrowser))
    },
  })
  const limited = Object.entries(real).map(([name, transport]) => [name, limit(transport)])
  return Object.fromEntries(limited)
}

type Release = () => void

function openInSlot(transport: WebTransport, opening: Opening, slot: Promise<Release | null>): OpenTransport {
  let open: OpenTransport | null = null
  let release: Release = () => undefined
  let isOver = false

  function end(closing: Closing): void {
    isOver = true
    release()
    opening.onClose(closing)
  }

  function begin(taken: Release | null): void {
    if (isOver) taken?.()
    else if (taken === null) end(full)
    else {
      release = taken
      open = transport.open({ ...opening, onClose: end })
    }
  }

  // If locks fail, nothing is limited.
  slot.catch(() => release).then(begin)

  return {
    async send(draft) {
      if (!open) throw new Error('The connection is not open.')
      return open.send(draft)
    },
    beat: (beat) => open?.beat(beat),
    sendAwareness: (report) => open?.sendAwareness(report),
    close(isForGood) {
      isOver = true
      open?.close(isForGood)
      release()
    },
  }
}

/** Resolves to a slot's release, or null when all are taken. */
function createSlots(locks: Pick<LockManager, 'request'>) {
  /** Slots released by this window that the browser still counts as held. */
  const leaving = new Set<Promise<unknown>>()

  function hold(name: string): Promise<Release | null> {
    return new Promise((resolve, reject) => {
      const released = locks.request(name, { ifAvailable: true }, (lock) => {
        if (lock === null) return resolve(null)
        return new Promise<void>((endLock) =>
          resolve(() => {
            endLock()
            const left = released.finally(() => leaving.delete(left))
            leaving.add(left)
          }),
        )
      })
      released.catch(reject)
    })
  }

  return async (origin: string, number: number): Promise<Release | null> => {
    await Promise.all(leaving)
    for (let slot = 1; slot <= number; slot += 1) {
      const release = await hold(`crosswind ${origin} ${slot}`)
      if (release) return release
    }
    return null
  }
}

export const transportsByName: Readonly<Record<TransportName, ChosenTransport>> = {
  sse,
  websocket,
  'long-polling': longPolling,
  polling,
  streaming,
}

/** The transports that this browser cannot run, each with a sentence that says why. */
export function lackingTransports(): Partial<Record<TransportName, string>> {
  const lacking: Partial<Record<TransportName, string>> = {}
  for (const { name, lacks } of Object.values(transportsByName)) {
    const sentence = lacks?.()
    if (sentence) lacking[name] = sentence
  }
  return lacking
}
