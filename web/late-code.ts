// Code that is loaded when it is first needed, and only while it is served.

import type { Store } from './store.ts'

/** Null: always served. */
let served: { readonly is: () => boolean; readonly until: () => Promise<void> } | null = null

/** `isControlled`: a service worker has all code. */
export function loadCodeWhileServed(
  store: Pick<Store, 'view' | 'subscribe'>,
  isControlled: () => boolean,
): void {
  const is = () => store.view().outage === null || isControlled()
  served = {
    is,
    until: () =>
      new Promise((resolve) => {
        const stop = store.subscribe(look)
        look()
        function look(): void {
          if (!is()) return
          stop()
          resolve()
        }
      }),
  }
}

/** A browser may remember a failed import: none is tried while the server is away. */
export class LateCode<Code> {
  readonly #load: () => Promise<Code>
  readonly #failure: string
  #loaded: Code | null = null
  #isAhead = false

  /** `failure`: one sentence to display. */
  constructor(
    load: () => Promise<Code>,
    failure = 'This could not be loaded: the server did not answer. Try again once the connection is back, or reload.',
  ) {
    this.#load = load
    this.#failure = failure
  }

  get loaded(): Code | null {
    return this.#loaded
  }

  get isAtHand(): boolean {
    return this.#loaded !== null || served === null || served.is()
  }

  /** Rejects with an Error whose message can be displayed. */
  async load(): Promise<Code> {
    try {
      if (!this.isAtHand) throw new Error('The server is away.')
      this.#loaded ??= await this.#load()
      return this.#loaded
    } catch (cause) {
      throw new Error(this.#failure, { cause })
    }
  }

  async loadOnceServed(): Promise<Code> {
    if (!this.isAtHand) await served?.until()
    return this.load()
  }

  preload(): void {
    if (this.#isAhead) return
    this.#isAhead = true
    this.loadOnceServed()
      .catch(() => undefined)
      .finally(() => {
        this.#isAhead = false
      })
  }
}
