// One connection to a store, opened when it is used, and again after it broke.

interface StoreConnectionParts<Client> {
  /** Of servers of one store: the first that takes the connection is used. */
  readonly addresses: readonly string[]
  /**
   * Rejects within some seconds if the server cannot be used, such as one that only copies another.
   * `onBroken` is called when the connection has ended.
   */
  readonly open: (address: string, onBroken: () => void) => Promise<Client>
  readonly end: (client: Client) => unknown
  /** Called when the connection is open again. */
  readonly onReopened?: () => void
}

export class StoreConnection<Client> {
  readonly #parts: StoreConnectionParts<Client>
  /** Settles when the work so far is done. */
  #last = Promise.resolve()
  #client: Client | null = null
  #opened = 0
  #isClosed = false

  constructor(parts: StoreConnectionParts<Client>) {
    this.#parts = parts
  }

  /** How often it was opened again. */
  get reconnects(): number {
    return Math.max(0, this.#opened - 1)
  }

  /** Runs work one after the other. Opens the connection if need be; rejects with the first server's error if none can be used. */
  use<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    const result = this.#last.then(async () => work(this.#client ?? (await this.#open())))
    this.#last = result.then(
      () => undefined,
      () => undefined,
    )
    return result
  }

  /** Ends a client that cannot be used any longer. */
  async drop(client: Client): Promise<void> {
    if (this.#client !== client) return
    this.#client = null
    await this.#parts.end(client)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#last
    if (this.#client) await this.drop(this.#client)
  }

  async #open(): Promise<Client> {
    if (this.#isClosed) throw new Error('the connection is closed')
    let failure: unknown
    for (const address of this.#parts.addresses) {
      let client: Client | null = null
      let isBroken = false
      try {
        client = await this.#parts.open(address, () => {
          isBroken = true
          if (this.#client === client) this.#client = null
        })
        if (!isBroken) this.#client = client
        this.#opened += 1
        if (this.#opened > 1) this.#parts.onReopened?.()
        return client
      } catch (error) {
        failure ??= error
      }
    }
    throw failure
  }
}
