// Entry point of a process of its own: a client that sends as fast as it can, so that it takes no time from who counts.

import { modeNamed } from '../../server/wire/modes.ts'
import { BusyError } from '../../web/transports/transport.ts'
import { draftOf } from '../fleet/client.ts'
import { fleetTransports } from '../fleet/clients.ts'
import type { FloodOrder, FloodOutcome } from './flood.ts'

/** Messages that are under way at a time: as many as a client that does not care would have. */
const underWay = 256

async function flood({ mode: name, origin, ca, lastsMs, window }: FloodOrder): Promise<FloodOutcome> {
  const mode = modeNamed(name)
  if (!mode) throw new Error(`There is no mode ${name}.`)
  const outcome = { sent: 0, stored: 0, heldBack: 0, failed: 0 }
  const opening = { mode, origin: origin[mode.http], ca }
  const query = new URLSearchParams({ window, channels: 'flood' })
  const open = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const transport = fleetTransports[mode.transport]({
    ...opening,
    query,
    polling: { intervalMs: 50, holdMs: 300 },
    onFrame: (frame) => frame.type === 'welcome' && open.resolve(),
    onClose: () => ended.resolve(),
  })
  await Promise.race([open.promise, ended.promise])
  const until = performance.now() + lastsMs
  let isOver = false
  ended.promise.then(() => {
    isOver = true
  })

  async function sendOn(): Promise<void> {
    while (!isOver && performance.now() < until) {
      outcome.sent += 1
      await transport.send(draftOf(window, outcome.sent, 'x'.repeat(200), 'flood')).then(
        () => {
          outcome.stored += 1
        },
        (error) => {
          if (error instanceof BusyError) outcome.heldBack += 1
          else outcome.failed += 1
          return new Promise((resolve) => setImmediate(resolve))
        },
      )
    }
  }

  const timeUp = new Promise<void>((resolve) => setTimeout(resolve, lastsMs + 200))
  await Promise.race([Promise.all(Array.from({ length: underWay }, sendOn)), timeUp])
  isOver = true
  transport.close()
  return outcome
}

process.on('message', async (order: FloodOrder) => {
  try {
    process.send?.({ outcome: await flood(order) })
  } catch (error) {
    process.send?.({ failure: String(error) })
  }
})
process.once('disconnect', () => process.exit())
process.send?.({ type: 'ready' })
