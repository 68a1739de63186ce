// The dial: two canvases, one upon the other, that React makes and then leaves alone.

import { memo, useLayoutEffect, useRef } from 'react'
import { browserTimers } from '../../link/timers.ts'
import type { Store } from '../../store/store.ts'
import { mountDial } from './mount-dial.ts'

/** Its text alternative is brought up to date every few seconds, and not announced. */
export const Dial = memo(function Dial({ store }: { store: Store }) {
  const card = useRef<HTMLCanvasElement>(null)
  const live = useRef<HTMLCanvasElement>(null)
  useLayoutEffect(() => {
    if (!card.current || !live.current) return
    return mountDial({ card: card.current, live: live.current, store, clock: browserTimers.now })
  }, [store])
  return (
    <div className="dial">
      <canvas ref={card} />
      <canvas ref={live} role="img" aria-label="Wind dial" />
    </div>
  )
})
