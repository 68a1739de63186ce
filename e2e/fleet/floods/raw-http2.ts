// HTTP/2 written frame by frame on a bare TLS connection, for what a client library is too polite to send (RFC 9113).

import tls from 'node:tls'

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const flags = { none: 0, ack: 1, endStream: 1, endHeaders: 4 } as const

/** Identifiers of RFC 9113, section 6.5.2. */
export const settingNames = { maxConcurrentStreams: 3, initialWindowSize: 4 } as const

/** Codes of GOAWAY and RST_STREAM by their number (RFC 9113, section 7). */
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

/** How the server ended it. */
export interface RawEnding {
  /** Name of GOAWAY's code; null when the connection went without one. */
  readonly goaway: string | null
  /** How often the server reset a stream, by the code's name. */
  readonly resets: Readonly<Record<string, number>>
  /** Answers that began. */
  readonly answers: number
}

export interface RawHttp2 {
  /** Resolves when more can be sent; false once the connection has ended. */
  readonly send: (...frames: readonly Buffer[]) => Promise<boolean>
  /** Resolves when that many answers have begun, or the connection has ended. */
  readonly answered: (count: number) => Promise<void>
  /** Never reads again, nor answers a PING. */
  readonly stopReading: () => void
  readonly ended: Promise<RawEnding>
  readonly soFar: () => RawEnding
  readonly close: () => void
}

export function frame(type: number, flag: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flag, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Pairs of identifier and value. */
export function settingsFrame(...pairs: readonly (readonly [number, number])[]): Buffer {
  const payload = Buffer.alloc(pairs.length * 6)
  pairs.forEach(([identifier, value], index) => {
    payload.writeUInt16BE(identifier, index * 6)
    payload.writeUInt32BE(value, index * 6 + 2)
  })
  return frame(frameTypes.settings, flags.none, 0, payload)
}

/** Fields as literals without indexing and without Huffman coding (RFC 7541, section 6.2.2). */
export function fieldBlock(fields: readonly (readonly [string, string])[]): Buffer {
  const parts = fields.map(([name, value]) =>
    Buffer.concat([Buffer.from([0]), literal(name), literal(value)]),
  )
  return Buffer.concat(parts)
}

function literal(text: string): Buffer {
  return Buffer.concat([integer(text.length), Buffer.from(text, 'latin1')])
}

/** An integer with a prefix of seven bits (RFC 7541, section 5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.from([value])
  const bytes = [127]
  let rest = value - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

export function requestFields(path: string, method = 'GET'): [string, string][] {
  return [
    [':method', method],
    [':scheme', 'https'],
    [':authority', 'localhost'],
    [':path', path],
  ]
}

/** Resolves when the connection is up and the client's preface is sent, with these settings. */
export async function openRawHttp2(
  port: number,
  settings: readonly (readonly [number, number])[] = [],
): Promise<RawHttp2> {
  const socket = tls.connect({ port, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false })
  const resets: Record<string, number> = {}
  let goaway: string | null = null
  let answers = 0
  socket.on('error', () => undefined)
  const { promise: ended, resolve } = Promise.withResolvers<RawEnding>()
  const soFar = () => ({ goaway, resets, answers })
  socket.once('close', () => resolve(soFar()))
  await next('secureConnect')
  socket.on(
    'data',
    createFrameReader((type, flag, payload) => {
      if (type === frameTypes.headers) answers += 1
      if (type === frameTypes.headers) socket.emit('answer')
      // The server's settings hold for who has acknowledged them (RFC 9113, section 6.5.3).
      if (type === frameTypes.settings && flag !== flags.ack) {
        send(frame(frameTypes.settings, flags.ack, 0))
      }
      if (type === frameTypes.goaway) goaway ??= nameOf(payload.readUInt32BE(4))
      if (type !== frameTypes.reset) return
      const name = nameOf(payload.readUInt32BE(0))
      resets[name] = (resets[name] ?? 0) + 1
    }),
  )

  async function send(...frames: readonly Buffer[]): Promise<boolean> {
    if (!socket.writable) return false
    if (!socket.write(Buffer.concat(frames))) await next('drain')
    return socket.writable
  }

  /** Resolves at that event, or when the connection has ended. */
  function next(event: string): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        socket.off(event, done).off('close', done)
        resolve()
      }
      socket.once(event, done).once('close', done)
    })
  }

  await send(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'), settingsFrame(...settings))
  return {
    send,
    stopReading: () => void socket.pause(),
    ended,
    async answered(count) {
      while (answers < count && !socket.destroyed) await next('answer')
    },
    soFar,
    close: () => void socket.destroy(),
  }
}

function nameOf(code: number): string {
  return errorNames[code] ?? String(code)
}

function createFrameReader(
  onFrame: (type: number, flag: number, payload: Buffer) => void,
): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 9) {
      const end = 9 + rest.readUIntBE(0, 3)
      if (rest.length < end) return
      onFrame(rest.readUInt8(3), rest.readUInt8(4), rest.subarray(9, end))
      rest = rest.subarray(end)
    }
  }
}
