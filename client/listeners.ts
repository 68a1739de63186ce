/** Stops listening. */
export type Off = () => void

export function listen<Listener>(listeners: Set<Listener>, listener: Listener): Off {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Calls all listeners. An error in one is reported, as by an event target, and the others are still called. */
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

/** Calls it, and reports its error. */
export const attempt = (work: () => void): void => tell([work])

/** Throws the error where no caller catches it, so that the platform reports it. */
export function report(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
