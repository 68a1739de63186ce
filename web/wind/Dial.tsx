// The compass dial: a card that never changes, and a pointer on its rim at the side the wind comes from.

import { memo, type ReactNode, type RefObject, useLayoutEffect, useRef } from 'react'
import { shortWay } from './compass.ts'

interface DialProps {
  /** Null hides the pointer: no direction is never shown as north. */
  readonly directionDegrees: number | null
  readonly children: ReactNode
}

/** A picture of what the words beside it say, so it is not read out; `children` stand in its middle and are. */
export function Dial({ directionDegrees, children }: DialProps) {
  const pointer = useRef<SVGSVGElement>(null)
  useTurn(pointer, directionDegrees)
  return (
    <div className="dial">
      <DialCard />
      <svg
        ref={pointer}
        className="dial-pointer"
        viewBox="0 0 240 240"
        aria-hidden="true"
        data-shown={directionDegrees !== null}
      >
        <path d="M120 37 105 4q15 6 30 0Z" />
      </svg>
      <div className="dial-middle">{children}</div>
    </div>
  )
}

/** Turns the element the short way. Its own layer, so that a turn repaints nothing. */
function useTurn(pointer: RefObject<SVGSVGElement | null>, directionDegrees: number | null): void {
  const angle = useRef<number | null>(null)
  useLayoutEffect(() => {
    if (directionDegrees === null || !pointer.current) return
    angle.current = angle.current === null ? directionDegrees : shortWay(angle.current, directionDegrees)
    pointer.current.style.transform = `rotate(${angle.current}deg)`
  }, [pointer, directionDegrees])
}

const tickDegrees = Array.from({ length: 36 }, (_, index) => index * 10)

const DialCard = memo(function DialCard() {
  return (
    <svg className="dial-card" viewBox="0 0 240 240" aria-hidden="true">
      <circle className="dial-rim" cx="120" cy="120" r="104" />
      {tickDegrees.map((degrees) => (
        <path
          key={degrees}
          className={degrees % 90 === 0 ? 'dial-tick dial-tick-main' : 'dial-tick'}
          d={degrees % 30 === 0 ? 'M120 16v10' : 'M120 16v5'}
          transform={`rotate(${degrees} 120 120)`}
        />
      ))}
      <g className="dial-letters">
        <text className="dial-north" x="120" y="51">
          N
        </text>
        <text x="195" y="125">
          E
        </text>
        <text x="120" y="200">
          S
        </text>
        <text x="45" y="125">
          W
        </text>
      </g>
    </svg>
  )
})
