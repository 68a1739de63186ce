// One connection for the windows of a browser: the same transports, opened at a place that these windows share.

import { type TransportName, transportNames } from '../../server/wire/modes.ts'
import { newName } from '../link/identity.ts'
import type { WebTransport } from '../transports/transport.ts'
import { openPlace } from './host.ts'
import { createLeading } from './leader.ts'
import type { Reach } from './line.ts'
import { holdForLife } from './locks.ts'
import type { Place } from './place.ts'
import { createSharing } from './shared-transport.ts'
import { reachWorker } from './worker.ts'

type Transports = Readonly<Record<TransportName, WebTransport>>

/** Without Web Locks nobody would notice that a window is gone: then each window keeps its own connection. */
export function shareTransports(real: Transports): Transports {
  if (!('locks' in navigator)) return real
  const { open, leave } = createSharing(reachAnyWay(real))
  // From the back-forward cache the link opens anew.
  addEventListener('pagehide', leave)
  const shared = transportNames.map((name) => [name, { name, open }] as const)
  return Object.fromEntries(shared) as Record<TransportName, WebTransport>
}

/** A SharedWorker where there is one, else a leader among the windows. */
function reachAnyWay(real: Transports): Reach {
  const window = newName('crosswind-window-')
  const held = holdForLife(navigator.locks, window)
  const reachLead = () => reachLeader(window, () => openPlace(real))
  let lead = 'SharedWorker' in globalThis ? null : reachLead()

  return async (events) => {
    await held
    if (lead) return lead(events)
    try {
      return await reachWorker(window, navigator.locks, events)
    } catch (error) {
      console.warn(error)
      lead = reachLead()
      return lead(events)
    }
  }
}

function reachLeader(window: string, openPlace: () => Place): Reach {
  const { reach, stand, resign } = createLeading({
    // Windows of another build have another file.
    name: `crosswind ${new URL(import.meta.url).pathname}`,
    window,
    locks: navigator.locks,
    openPlace,
    newName: () => newName('p'),
  })
  // A window that is frozen or put into the back-forward cache would lead and not answer.
  for (const type of ['pagehide', 'freeze']) addEventListener(type, resign, { capture: true })
  for (const type of ['pageshow', 'resume']) addEventListener(type, stand, { capture: true })
  return reach
}
