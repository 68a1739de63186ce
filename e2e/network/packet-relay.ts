// Child of packet-network.ts: carries IP packets between two TUN devices, and loses some.

import { read, writeSync } from 'node:fs'
import { createSeededRandom } from '../../client/wire.ts'
import { DelayQueue, wholeTimers } from './delay-link.ts'
import { createLoss, createPaths, noLoss, type Path, type Profile } from './profiles.ts'

/** A path is known by its number, the third byte of both ends' addresses. */
export interface Order {
  readonly open?: { readonly number: number; readonly profile: Profile; readonly seed: number }
  /** From now on: packets are delayed, but neither lost nor counted. */
  readonly isSparing?: boolean
}

export type PathFigures = Readonly<Record<'number', number> & Record<'up' | 'down', WayFigures>>
export type WayFigures = ReturnType<Way['figures']>

/** A router's buffer, in time: packets that would wait longer are dropped. */
const maxQueuedMs = 200
const mtuBytes = 1500
/** IPv4: the version is the first four bits; 198.18.NUMBER.1 is the source or the destination. */
const pathNumberAt = 14

class Way {
  readonly #queue: DelayQueue
  readonly #isLost: () => boolean
  #sent = 0
  #bytes = 0
  #lost = 0
  #overflowed = 0

  constructor({ kilobitsPerSecond }: Profile, path: Path, isLost: () => boolean) {
    this.#queue = new DelayQueue({ path, kilobitsPerSecond, timers: wholeTimers, graceMs: 0.5 })
    this.#isLost = isLost
  }

  carry(packet: Buffer, to: number): void {
    if (!isSparing) {
      this.#sent += 1
      this.#bytes += packet.length
    }
    if (!isSparing && this.#isLost()) this.#lost += 1
    else if (this.#queue.backlogMs > maxQueuedMs) this.#overflowed += 1
    else this.#queue.enter(packet.length, () => writeSync(to, packet))
  }

  figures() {
    return {
      sent: this.#sent,
      bytes: this.#bytes,
      lost: this.#lost,
      overflowed: this.#overflowed,
      /** The relay's own error. */
      late: this.#queue.lateness(),
    }
  }
}

let isSparing = false
const paths = new Map<number, Readonly<Record<'up' | 'down', Way>>>()

function open({ number, profile, seed }: NonNullable<Order['open']>): void {
  const random = createSeededRandom(seed)
  const courses = createPaths(profile, random)
  const way = (name: 'up' | 'down') => {
    const fork = createSeededRandom(Math.floor(random() * 2 ** 32))
    return new Way(profile, courses[name], createLoss(profile.loss ?? noLoss, fork))
  }
  paths.set(number, { up: way('up'), down: way('down') })
}

/** Each read takes one packet. */
function carry(from: number, to: number, way: 'up' | 'down'): void {
  const buffer = Buffer.alloc(mtuBytes)
  read(from, buffer, 0, mtuBytes, null, (error, bytes) => {
    if (error) throw error
    const path = buffer.readUInt8(0) >> 4 === 4 ? paths.get(buffer.readUInt8(pathNumberAt)) : undefined
    path?.[way].carry(Buffer.from(buffer.subarray(0, bytes)), to)
    carry(from, to, way)
  })
}

/** Each order is answered with the figures of all paths. */
process.on('message', ({ open: path, isSparing: spares = isSparing }: Order) => {
  if (path) open(path)
  isSparing = spares
  const figures = [...paths].map(
    ([number, { up, down }]): PathFigures => ({ number, up: up.figures(), down: down.figures() }),
  )
  process.send?.(figures)
})
// Ctrl-C in a terminal reaches every process, but the lab's servers must end first.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
process.once('disconnect', () => process.exit())
// Node would wait for the reads, which end only with the devices.
process.once('exit', () => process.kill(process.pid, 'SIGKILL'))

const [near = 0, far = 0] = process.argv.slice(-2).map(Number)
carry(near, far, 'up')
carry(far, near, 'down')
