// What every source of a sensor's bytes looks like to its owner: a serial port, a simulator, later a recorded log.

/** What the owner hears. None of it comes before the opening call returned, nor after `stop()` was called. */
export interface Listening {
  /** Bytes may follow. Whatever was half received before is void. */
  onOpen(): void
  /** `at`: the host's stamp of these bytes' arrival, ms since the epoch, with fractions. */
  onBytes(bytes: Uint8Array, at: number): void
  /** The source closed or could not be opened, and tries again by itself. */
  onClose(closing: Closing): void
}

export interface Closing {
  /** Why, in a few words for people. */
  readonly reason: string
  readonly retryInMs: number
}

export interface ByteSource {
  /** Ends everything at once; resolves when what it held open is closed. Never rejects. */
  stop(): Promise<void>
}
