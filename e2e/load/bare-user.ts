// A user without a library: a WebSocket that is opened again, and nothing that is sent again.

import { WebSocket } from 'ws'

const reopenAfterMs = 500

/** Sends to its own channel of a bare relay. */
export class BareUser {
  readonly #address: string
  readonly #channel: string
  readonly #returned = new Map<string, number>()
  #socket: WebSocket
  #sent = 0
  #reopening: NodeJS.Timeout | null = null
  #isClosed = false

  /** `origin`: `wss://localhost:8443`. */
  constructor(origin: string, channel: string) {
    this.#address = `${origin}/?${new URLSearchParams({ channels: channel })}`
    this.#channel = channel
    this.#socket = this.#open()
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  send(): void {
    this.#sent += 1
    const message = { id: `${this.#channel}:${this.#sent}`, channel: this.#channel }
    // A browser's discards it, too.
    if (this.isOpen) this.#socket.send(JSON.stringify({ message }))
  }

  sent(): number {
    return this.#sent
  }

  missing(): number {
    return this.#sent - this.#returned.size
  }

  repeated(): number {
    return [...this.#returned.values()].reduce((sum, copies) => sum + copies - 1, 0)
  }

  close(): void {
    this.#isClosed = true
    if (this.#reopening) clearTimeout(this.#reopening)
    this.#socket.terminate()
  }

  #open(): WebSocket {
    const socket = new WebSocket(this.#address, { rejectUnauthorized: false, perMessageDeflate: false })
    socket.on('error', () => undefined)
    socket.on('message', (data) => {
      const { id }: { readonly id: string } = JSON.parse(String(data))
      this.#returned.set(id, (this.#returned.get(id) ?? 0) + 1)
    })
    socket.once('close', () => {
      if (this.#isClosed) return
      this.#reopening = setTimeout(() => {
        this.#socket = this.#open()
      }, reopenAfterMs)
    })
    return socket
  }
}
