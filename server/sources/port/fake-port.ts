// Ports that a test opens, feeds and unplugs by hand.

import { EventEmitter } from 'node:events'
import type { Port, PortSettings } from './serial-line.ts'

/** Opens only when told, and keeps what is written to it. */
export class FakePort extends EventEmitter implements Port {
  readonly settings: PortSettings
  /** Everything that was ever written, in order. */
  readonly written: string[] = []
  isOpen = false
  opening = false
  closings = 0
  /** A converter that takes bytes and never lets them out. */
  isStuck = false
  /** Is closed only when told so by `finishClosing`. */
  isSlowToClose = false
  /** What the other end does about it. */
  onWrite: (text: string) => void = () => undefined
  #opened: (error: Error | null) => void = () => undefined
  #closed: (error: Error | null) => void = () => undefined

  constructor(settings: PortSettings) {
    super()
    this.settings = settings
  }

  open(done: (error: Error | null) => void): void {
    this.opening = true
    this.#opened = done
  }

  write(text: string): void {
    this.written.push(text)
    this.onWrite(text)
  }

  drain(done: (error: Error | null) => void): void {
    if (!this.isStuck) done(null)
  }

  close(done: (error: Error | null) => void): void {
    this.closings += 1
    this.isOpen = false
    this.#closed = done
    if (!this.isSlowToClose) this.finishClosing()
  }

  finishClosing(): void {
    this.emit('close')
    this.#closed(null)
  }

  succeed(): void {
    this.opening = false
    this.isOpen = true
    this.#opened(null)
  }

  fail(message: string): void {
    this.opening = false
    this.#opened(new Error(message))
  }

  unplug(): void {
    this.isOpen = false
    this.emit('close', new Error('bad file descriptor'))
  }

  receive(text: string): void {
    this.emit('data', Buffer.from(text, 'latin1'))
  }
}
