// Ports that a test opens, feeds and unplugs by hand.

import { EventEmitter } from 'node:events'
import type { Port, PortSettings } from './serial-line.ts'

/** Opens only when told, and complains when it is written to. */
export class FakePort extends EventEmitter implements Port {
  readonly settings: PortSettings
  isOpen = false
  opening = false
  closings = 0
  #opened: (error: Error | null) => void = () => undefined

  constructor(settings: PortSettings) {
    super()
    this.settings = settings
  }

  open(done: (error: Error | null) => void): void {
    this.opening = true
    this.#opened = done
  }

  close(done: (error: Error | null) => void): void {
    this.closings += 1
    this.isOpen = false
    this.emit('close')
    done(null)
  }

  write(): never {
    throw new Error('Nothing may be written to the port.')
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
