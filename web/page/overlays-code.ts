// Loads the code of what opens over the page.

import { useEffect, useState } from 'react'
import { LateCode } from '../late-code.ts'

export const overlaysCode = new LateCode(() => import('./overlays.ts'))

/** Null until it is loaded, which begins when something is open. `onFailure` gets one sentence. */
export function useOverlays(isOpen: boolean, onFailure: (sentence: string) => void) {
  const [overlays, setOverlays] = useState(overlaysCode.loaded)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each opening.
  useEffect(() => {
    if (isOpen && overlays === null)
      overlaysCode.load().then(setOverlays, ({ message }: Error) => onFailure(message))
  }, [isOpen])
  return overlays
}
