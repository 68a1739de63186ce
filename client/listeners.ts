/** Stops listening. */
export type Off = () => void

export function listen<Listener>(listeners: Set<Listener>, listener: Listener): Off {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Calls all; what one throws is reported, as by an event target, and the others hear. */
export function tell<Given extends readonly unknown[]>(
  listeners: Iterable<(...given: Given) => void>,
  ...given: Given
): void {
  for (const listener of listeners)
    try {
      listener(...given)
    } catch (error) {
      report(error)
    }
}

/** Throws it where nobody waits for a result. */
export function report(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
