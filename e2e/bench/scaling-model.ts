// Derives plans and queue simulations from the costs of a message, a delivery and a window.

import type { Random } from '../../client/wire.ts'

/** Measured costs of one server process: see `scaling-bench.ts`. */
export interface Costs {
  /** Processor time of the process that accepts a message, without deliveries, µs. */
  readonly messageMicros: number
  /** Per receiving window, µs. */
  readonly deliveryMicros: number
  /** Per message of the stream, including those without a window here, µs. */
  readonly followMicros: number
  /** At the broker, per message, µs. */
  readonly brokerMicros: number
  /** Heartbeats, µs per window and second. */
  readonly idleMicros: number
  readonly bytesPerWindow: number
  /** On the wire, including TLS. */
  readonly bytesPerDelivery: number
}

export interface Load {
  readonly windows: number
  readonly windowsPerPage: number
  /** Per window and second. */
  readonly messageRate: number
}

/** A process on its own core. */
export interface Machine {
  /** Maximum utilisation of the core, which keeps queues short. */
  readonly busyShare: number
  readonly memoryBytes: number
  /** Outgoing, per second. */
  readonly networkBytes: number
  /** Capacity of one broker stream, per second. */
  readonly streamMessages: number
}

/** Totals per second, and the number of processes that each of them alone requires. */
export function plan({ windows, windowsPerPage, messageRate }: Load, costs: Costs, machine: Machine) {
  const messages = windows * messageRate
  const deliveries = messages * windowsPerPage
  const shareMicros = 1e6 * machine.busyShare
  // A process follows one stream with at most half of its time, so that the rest serves windows.
  const messagesOfStream = Math.min(machine.streamMessages, shareMicros / 2 / costs.followMicros)
  const streams = Math.max(1, Math.ceil(messages / messagesOfStream))
  const followMicros = (messages / streams) * costs.followMicros
  const windowMicros =
    costs.idleMicros + messageRate * (costs.messageMicros + windowsPerPage * costs.deliveryMicros)
  const processes = {
    cpu: Math.ceil((windows * windowMicros) / (shareMicros - followMicros)),
    memory: Math.ceil((windows * costs.bytesPerWindow) / machine.memoryBytes),
    network: Math.ceil((deliveries * costs.bytesPerDelivery) / machine.networkBytes),
  }
  const needed = Math.max(...Object.values(processes))
  return {
    messages,
    deliveries,
    streams,
    processes,
    needed,
    bytesOut: deliveries * costs.bytesPerDelivery,
    memoryBytes: windows * costs.bytesPerWindow,
    /** Share of a process's core for messages without a window there. */
    followShare: followMicros / 1e6,
    first: (Object.entries(processes).toSorted(([, one], [, other]) => other - one)[0] ?? ['cpu'])[0],
  }
}

export interface SimulatedLoad {
  readonly processes: number
  readonly pages: number
  readonly windowsPerPage: number
  /** On all pages together, per second. */
  readonly messageRate: number
  /** Messages at even intervals, as the bench sends them, instead of random ones (Poisson). */
  readonly isEven: boolean
  readonly seconds: number
  /**
   * Number of processes whose queues are simulated; the others' work takes its time without a
   * queue. Default: all.
   */
  readonly watched?: number
}

/** `run` is called when the job is done. */
interface Job {
  readonly micros: number
  readonly run: (beganAt: number, doneAt: number) => void
}

/** A server that answers in order of arrival. */
class Station {
  #freeAt = 0
  busyMicros = 0

  /** Returns when the job is done, µs. */
  take(at: number, { micros, run }: Job, schedule: (at: number, run: () => void) => void): void {
    const beganAt = Math.max(at, this.#freeAt)
    this.#freeAt = beganAt + micros
    this.busyMicros += micros
    schedule(this.#freeAt, () => run(beganAt, beganAt + micros))
  }
}

/**
 * Each message is accepted by one process, numbered by the broker if there are several processes,
 * and delivered by all that have windows of its page, which are distributed at random. Latencies in
 * ms, from when a message was due to each of its deliveries; `busyShares` of the processes' cores.
 */
export function simulate(load: SimulatedLoad, costs: Costs, random: Random) {
  const { processes: count, pages, windowsPerPage, messageRate, isEven, seconds } = load
  const watched = Math.min(count, load.watched ?? count)
  const stations = Array.from({ length: watched }, () => new Station())
  const broker = new Station()
  const readers = Array.from({ length: pages }, () => dealt(windowsPerPage, count, random))
  const events = new EventQueue()
  const latenciesMs: number[] = []
  const schedule = (at: number, run: () => void) => events.add(at, run)
  const below = (bound: number) => Math.floor(random() * bound)

  function deliver(process: number, page: number, dueAt: number, at: number, extraMicros: number): void {
    const windows = readers[page]?.[process] ?? 0
    const micros = extraMicros + windows * costs.deliveryMicros
    const run = (beganAt: number) => {
      for (let window = 1; window <= windows; window += 1)
        latenciesMs.push((beganAt + extraMicros + window * costs.deliveryMicros - dueAt) / 1000)
    }
    stations[process]?.take(at, { micros, run }, schedule)
  }

  function arrive(dueAt: number): void {
    const process = below(count)
    const page = below(pages)
    if (count === 1) {
      deliver(0, page, dueAt, dueAt, costs.messageMicros)
      return
    }
    const numbered = (_: number, at: number) => {
      for (let other = 0; other < watched; other += 1) deliver(other, page, dueAt, at, costs.followMicros)
    }
    const taken = (_: number, at: number) =>
      broker.take(at, { micros: costs.brokerMicros, run: numbered }, schedule)
    const { messageMicros: micros } = costs
    const station = stations[process]
    if (station) station.take(dueAt, { micros, run: taken }, schedule)
    else schedule(dueAt + micros, () => taken(dueAt, dueAt + micros))
  }

  const endMicros = seconds * 1e6
  const meanMicros = 1e6 / messageRate
  const dueAts: number[] = []
  for (let at = 0; at < endMicros; at += isEven ? meanMicros : -Math.log(1 - random()) * meanMicros)
    dueAts.push(at)
  // One at a time, so that the queue stays short.
  const due = dueAts.values()
  const scheduleNext = () => {
    const { value: at } = due.next()
    if (at === undefined) return
    schedule(at, () => {
      scheduleNext()
      arrive(at)
    })
  }
  scheduleNext()
  events.runAll()
  const idle = (pages * windowsPerPage * costs.idleMicros * seconds) / count
  return {
    latenciesMs,
    busyShares: stations.map(({ busyMicros }) => (busyMicros + idle) / endMicros),
    brokerShare: broker.busyMicros / endMicros,
  }
}

/** A page's windows per process: equally many each, and the rest at random. */
function dealt(windows: number, processes: number, random: Random): readonly number[] {
  const counts = Array<number>(processes).fill(Math.floor(windows / processes))
  for (let window = 0; window < windows % processes; window += 1) {
    const index = Math.floor(random() * processes)
    counts[index] = (counts[index] ?? 0) + 1
  }
  return counts
}

/** Events by time; at equal times, the first added runs first. */
class EventQueue {
  /** The latest comes first. */
  readonly #events: { readonly at: number; readonly run: () => void }[] = []

  add(at: number, run: () => void): void {
    this.#events.splice(this.#events.findLastIndex((event) => event.at > at) + 1, 0, { at, run })
  }

  runAll(): void {
    for (let next = this.#events.pop(); next; next = this.#events.pop()) next.run()
  }
}
