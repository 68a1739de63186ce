// Who is here, and what waits for each, as it is shown.

import type { Guest } from './crowd.ts'
import type { Visitor } from './window.ts'

/** Not its browser's name: who knows it could take the window's place. */
export interface WindowFigures extends Pick<Visitor, 'id'> {
  readonly channels: readonly string[]
  readonly mode: string
  readonly backlogBytes: number
  readonly droppedReadings: number
  /** When it last let hear of itself, ms since the epoch; null while it never did. */
  readonly heardAt: number | null
}

export function figuresOf({ visitor, window, heardAt }: Guest): WindowFigures {
  const { id, channels, mode } = visitor
  return {
    id,
    channels: [...channels],
    mode: mode.name,
    backlogBytes: window?.backlogBytes() ?? 0,
    droppedReadings: window?.dropped() ?? 0,
    heardAt,
  }
}
