// What the lab can reach in a page opened with `?record`: its view and its stamps.

import type { LinkView, Store } from '../store/store.ts'
import type { Recorder } from './recorder.ts'

export interface LabDoor {
  readonly view: Store['view']
  readonly take: Recorder['take']
  /** What to add to this window's stamps to have the server's time, and how far off that may be. */
  readonly clock: () => LinkView['clock']
  readonly switchMode: (name: string) => void
}

declare global {
  interface Window {
    crosswind?: LabDoor
  }
}

interface DoorParts {
  readonly store: Store
  readonly recorder: Recorder
  readonly switchMode: (name: string) => void
}

export function installLabDoor({ store, recorder, switchMode }: DoorParts): void {
  globalThis.window.crosswind = {
    view: store.view,
    take: recorder.take,
    clock: () => store.view().link.clock,
    switchMode,
  }
}
