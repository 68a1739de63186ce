// What the overview's tests share: an overview over a hub with readers, and what they were told.

import type { Log } from '../broker/log.ts'
import { draft } from '../broker/log-testing.ts'
import { type FakeConnection, openHub, settled } from '../hub/testing.ts'
import { isKind, type Message } from '../wire/envelope.ts'
import type { DownFrame } from '../wire/frames.ts'
import { calm } from '../wire/wind/testing.ts'
import { type Overview, startOverview } from './overview.ts'

interface Change {
  readonly log?: Log
  readonly maxChannels?: number
}

export function open({ log: given, maxChannels = 10 }: Change = {}) {
  const failures: unknown[] = []
  const world = openHub({
    ...(given && { log: given }),
    onJoined: (channels) => overview.joined(channels),
  })
  const { hub, time, log } = world
  const overview: Overview = startOverview({
    log,
    hub,
    timers: time,
    run: 'run1',
    maxChannels,
    onFailure: (error) => void failures.push(error),
  })
  let edits = 0
  return {
    ...world,
    overview,
    failures,
    async write(html: string, channel = 'main') {
      edits += 1
      await hub.publish(draft(`w9-${edits}`, html, channel))
    },
    async blow() {
      edits += 1
      const message = { id: `sensor-${edits}`, channel: 'wind', from: 'sensor', at: time.now() }
      await hub.publish({ ...message, kind: 'reading', body: calm(0.1) })
    },
    async pass(ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += 100) {
        time.advance(100)
        await settled()
      }
    },
  }
}

export const reader = { id: 'reader', channels: ['main', 'wind', 'overview.main'] }

export function overviewsIn(frames: readonly DownFrame[]): Message<'overview'>[] {
  const messages = frames.flatMap((frame) => (frame.type === 'message' ? [frame.message] : []))
  return messages.filter((message) => isKind(message, 'overview'))
}

export const toldTo = ({ frames }: FakeConnection) => overviewsIn(frames)
export const wordsTold = (connection: FakeConnection) => toldTo(connection).map(({ body }) => body.words)
export const newestTo = (connection: FakeConnection) => toldTo(connection).at(-1)?.body
