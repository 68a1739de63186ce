// Raw HTTP/2 frames over TLS, for traffic that no client library sends (RFC 9113).

import tls from 'node:tls'

/** Name and value. */
type Field = readonly [string, string]

const types = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

const flags = { none: 0, ack: 1, endStream: 1, endHeaders: 4 } as const

/** RFC 9113, section 6.5.2. */
type Setting = readonly [identifier: number, value: number]

export const settings = {
  maxConcurrentStreams: (count: number): Setting => [3, count],
  initialWindowSize: (bytes: number): Setting => [4, bytes],
}

/** Bytes (RFC 9113, section 6.9.1). */
export const maxWindow = 2 ** 31 - 1

/** Bytes of a stream's window before the first WINDOW_UPDATE (RFC 9113, section 6.9.2). */
const minWindow = 65_535

/** RFC 9113, section 7. */
const errorNames = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
] as const

interface HeadersEnd {
  readonly endsHeaders?: boolean
  readonly endsStream?: boolean
}

/** `block` comes from `fieldBlock`. */
export const frames = {
  headers: (stream: number, block: Buffer, { endsHeaders = true, endsStream = true }: HeadersEnd = {}) => {
    const flag = (endsHeaders ? flags.endHeaders : 0) | (endsStream ? flags.endStream : 0)
    return frame(types.headers, flag, stream, block)
  },
  continuation: (stream: number, block: Buffer, isLast: boolean) =>
    frame(types.continuation, isLast ? flags.endHeaders : flags.none, stream, block),
  request: (stream: number, path: string, method = 'GET') =>
    frames.headers(stream, fieldBlock(requestFields(path, method))),
  data: (stream: number, payload: string | Buffer, endsStream = false) =>
    frame(types.data, endsStream ? flags.endStream : flags.none, stream, Buffer.from(payload)),
  /** RST_STREAM with CANCEL. */
  cancel: (stream: number) => frame(types.reset, flags.none, stream, uint32(8)),
  settings: (...pairs: readonly Setting[]) =>
    frame(
      types.settings,
      flags.none,
      0,
      Buffer.concat(pairs.flatMap(([id, value]) => [Buffer.from([0, id]), uint32(value)])),
    ),
  ping: () => frame(types.ping, flags.none, 0, Buffer.alloc(8)),
  /** For the connection. */
  windowUpdate: (bytes: number) => frame(types.windowUpdate, flags.none, 0, uint32(bytes)),
}

function frame(type: number, flag: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flag, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Literals without indexing or Huffman coding (RFC 7541, section 6.2.2). */
export function fieldBlock(fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]))
}

function literal(text: string): Buffer {
  return Buffer.concat([integer(text.length), Buffer.from(text, 'latin1')])
}

/** 7-bit prefix integer (RFC 7541, section 5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.from([value])
  const bytes = [127]
  let rest = value - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

export function requestFields(path: string, method = 'GET', ...more: readonly Field[]): Field[] {
  return [[':method', method], [':scheme', 'https'], [':authority', 'localhost'], [':path', path], ...more]
}

/** Client stream ids are odd and increase. */
export const streamAt = (index: number) => index * 2 + 1

export interface RawEnding {
  /** GOAWAY's error name; null without GOAWAY. */
  readonly goaway: string | null
  /** Stream resets by error name. */
  readonly resets: Readonly<Record<string, number>>
  readonly answers: number
}

export type RawHttp2 = Awaited<ReturnType<typeof openRawHttp2>>

/** Resolves on failure too. Does not verify the certificate. */
export async function connectTls(port: number, protocol: 'h2' | 'http/1.1' = 'http/1.1') {
  const socket = tls.connect({
    port,
    host: '127.0.0.1',
    ALPNProtocols: [protocol],
    rejectUnauthorized: false,
  })
  socket.on('error', () => undefined)
  await nextOf(socket, 'secureConnect')
  return socket
}

/** Resolves at the event or the connection's end. */
function nextOf(socket: tls.TLSSocket, event: string): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off(event, done).off('close', done)
      resolve()
    }
    socket.once(event, done).once('close', done)
  })
}

export async function openRawHttp2(port: number, ...own: readonly Setting[]) {
  const socket = await connectTls(port, 'h2')
  const resets: Record<string, number> = {}
  const ends = new Map<number, string>()
  const granted = new Map<number, number>()
  let goaway: string | null = null
  let answers = 0
  const soFar = (): RawEnding => ({ goaway, resets, answers })
  const ended = Promise.withResolvers<RawEnding>()
  if (socket.destroyed) ended.resolve(soFar())
  else socket.once('close', () => ended.resolve(soFar()))
  socket.on('data', createFrameReader(take))

  function take(type: number, flag: number, stream: number, payload: Buffer): void {
    if (type === types.headers || type === types.data) {
      if (flag & flags.endStream) ends.set(stream, 'END_STREAM')
    }
    if (type === types.headers) {
      answers += 1
      socket.emit('answer')
    }
    if (type === types.reset) {
      const name = nameOf(payload.readUInt32BE(0))
      resets[name] = (resets[name] ?? 0) + 1
      if (!ends.has(stream)) ends.set(stream, `RST_STREAM ${name}`)
    }
    if (type === types.windowUpdate) granted.set(stream, (granted.get(stream) ?? 0) + payload.readUInt32BE(0))
    if (ends.has(stream)) socket.emit('end of stream')
    if (type === types.reset || type === types.windowUpdate) socket.emit('window')
    // The server's settings hold from here on (RFC 9113, section 6.5.3).
    if (type === types.settings && flag !== flags.ack) send(frame(types.settings, flags.ack, 0))
    if (type === types.goaway) goaway ??= nameOf(payload.readUInt32BE(4))
  }

  /** Resolves when writable; false after the connection's end. */
  async function send(...parts: readonly Buffer[]): Promise<boolean> {
    if (!socket.writable) return false
    if (!socket.write(Buffer.concat(parts))) await nextOf(socket, 'drain')
    return socket.writable
  }

  await send(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'), frames.settings(...own))
  return {
    send,
    stopReading: () => void socket.pause(),
    ended: ended.promise,
    async answered(count: number): Promise<void> {
      while (answers < count && !socket.destroyed) await nextOf(socket, 'answer')
    },
    /** Resolves to `END_STREAM`, or `RST_STREAM` and the error name; null if the connection ends first. */
    async endOf(stream: number): Promise<string | null> {
      while (!ends.has(stream) && !socket.destroyed) await nextOf(socket, 'end of stream')
      return ends.get(stream) ?? null
    },
    /** Sends a body as fast as the stream's window allows, until the server resets the stream. */
    async sendBody(stream: number, partBytes: number): Promise<void> {
      const part = frames.data(stream, 'x'.repeat(partBytes))
      const mayGoOn = () => socket.writable && Object.keys(resets).length === 0
      for (let sent = partBytes; mayGoOn(); sent += partBytes) {
        while (mayGoOn() && sent > minWindow + (granted.get(stream) ?? 0)) await nextOf(socket, 'window')
        if (mayGoOn()) await send(part)
      }
    },
    soFar,
    close: () => void socket.destroy(),
  }
}

function nameOf(code: number): string {
  return errorNames[code] ?? String(code)
}

function createFrameReader(
  onFrame: (type: number, flag: number, stream: number, payload: Buffer) => void,
): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 9) {
      const end = 9 + rest.readUIntBE(0, 3)
      if (rest.length < end) return
      onFrame(rest.readUInt8(3), rest.readUInt8(4), rest.readUInt32BE(5) & 0x7fffffff, rest.subarray(9, end))
      rest = rest.subarray(end)
    }
  }
}
