// Listeners to events, as the library's users add them.

/** Stops listening. */
export type Off = () => void

type EventMap = { readonly [event: string]: (...given: never[]) => void }

/**
 * Listeners by event. An event goes to those that listened when it began and still do; a function that was
 * added twice is called twice. An error in one is reported, and the others are still called.
 */
export class Listeners<Events extends EventMap> {
  readonly #all = new Map<keyof Events, Set<{ readonly listener: Events[keyof Events] }>>()

  on<Event extends keyof Events>(event: Event, listener: Events[Event]): Off {
    const entry = { listener }
    const entries = this.#all.get(event) ?? new Set()
    this.#all.set(event, entries.add(entry))
    return () => void entries.delete(entry)
  }

  tell<Event extends keyof Events>(event: Event, ...given: Parameters<Events[Event]>): void {
    const entries = this.#all.get(event)
    for (const entry of [...(entries ?? [])])
      attempt(() => {
        if (entries?.has(entry)) entry.listener(...given)
      })
  }

  has(event: keyof Events): boolean {
    return Boolean(this.#all.get(event)?.size)
  }
}

/** Calls it, and reports its error as an event target does. */
export function attempt(work: () => void): void {
  try {
    work()
  } catch (error) {
    report(error)
  }
}

/** Throws the error where no caller catches it, so that the platform reports it. */
export function report(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
