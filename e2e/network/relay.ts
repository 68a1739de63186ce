// One connection over a link: its handshake, its bytes, its ends and its end, all on the link's two lanes.

import { Socket } from 'node:net'
import type { Lane } from './lane.ts'

export interface RelaySettings {
  /** Accepted and paused; keeps its half open when the other one ends. */
  readonly near: Socket
  readonly target: { readonly port: number; readonly host: string }
  readonly up: Lane
  readonly down: Lane
  /** No more of these enter a lane in one piece. */
  readonly segmentBytes: number
  readonly onBytes: (way: 'up' | 'down', bytes: number) => void
  /** Once, when both sockets have closed. */
  readonly onClosed: () => void
}

/**
 * More than this inside one direction of a connection, and its sender is left unread: what a receive window does. Over
 * 150 ms it lets 1.7 MB a second through.
 */
const mostInside = 256 * 1024

/** Returns the way to break it off at once. */
export function startRelay(settings: RelaySettings): () => void {
  const { near, target, up, down, onClosed } = settings
  const far = new Socket({ allowHalfOpen: true }).setNoDelay(true)
  carry(near, far, 'up', settings)
  carry(far, near, 'down', settings)
  shakeHands()

  /** SYN, SYN-ACK, ACK. The client's kernel said yes already: what it sends is left unread until the answer would have come. */
  function shakeHands(): void {
    up.enter(0, () =>
      down.enter(0, () => {
        up.enter(0, () => !far.destroyed && far.connect(target))
        near.resume()
      }),
    )
  }

  let open = 2
  for (const socket of [near, far]) {
    socket.once('close', () => {
      open -= 1
      if (open === 0) onClosed()
    })
  }
  return () => {
    near.resetAndDestroy()
    far.resetAndDestroy()
  }
}

function carry(
  from: Socket,
  to: Socket,
  way: 'up' | 'down',
  { [way]: lane, segmentBytes, onBytes }: RelaySettings,
): void {
  let inside = 0

  from.on('data', (chunk: Buffer) => {
    onBytes(way, chunk.length)
    inside += chunk.length
    if (inside > mostInside) from.pause()
    for (const segment of segmentsOf(chunk, segmentBytes)) {
      lane.enter(segment.length, () => to.write(segment, () => taken(segment.length)))
    }
  })

  function taken(bytes: number): void {
    inside -= bytes
    if (inside <= mostInside && from.isPaused()) from.resume()
  }

  from.on('end', () => lane.enter(0, () => to.end()))
  from.on('error', () => undefined)
  from.once('close', (hadError) => {
    if (hadError || !from.readableEnded) lane.enter(0, () => to.destroyed || to.resetAndDestroy())
  })
}

function* segmentsOf(chunk: Buffer, bytes: number): Iterable<Buffer> {
  for (let at = 0; at < chunk.length; at += bytes) yield chunk.subarray(at, at + bytes)
}
