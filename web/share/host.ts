// Where the sharing place lives, in a worker or in a leading window: lets windows in, and notices when they are gone.

import { newName } from '../link/identity.ts'
import { browserTimers } from '../link/timers.ts'
import { askServer } from './ask.ts'
import { type Locks, onceFree } from './locks.ts'
import { type Attached, createPlace, type Place, type PlaceParts } from './place.ts'
import type { FromWindow, ToWindow } from './port.ts'

/** A way to one window. */
export interface WindowPort {
  readonly post: (said: ToWindow) => void
  readonly close: () => void
}

export interface Host {
  readonly hear: (from: FromWindow) => void
  readonly close: () => void
}

export interface HostParts {
  readonly place: Place
  readonly locks: Locks
  readonly portTo: (window: string) => WindowPort
}

export function createHost({ place, locks, portTo }: HostParts): Host {
  const attached = new Map<string, Attached>()
  const ports = new Set<WindowPort>()
  const ending = new AbortController()

  function admit(window: string): Attached {
    const port = portTo(window)
    const newcomer = place.attach(port.post)
    attached.set(window, newcomer)
    ports.add(port)
    onceFree(locks, window, ending.signal, () => {
      attached.delete(window)
      newcomer.gone()
      ports.delete(port)
      port.close()
    })
    return newcomer
  }

  return {
    hear({ window, said }) {
      const known = attached.get(window) ?? admit(window)
      known.hear(said)
    },
    close() {
      ending.abort()
      place.close()
      for (const port of ports) port.close()
    },
  }
}

/** A place with this browser's clock and network. */
export function openPlace(transports: PlaceParts['transports']): Place {
  return createPlace({ transports, timers: browserTimers, newName: () => newName('s'), ask: askServer })
}
