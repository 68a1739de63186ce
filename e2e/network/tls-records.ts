// Counts the TLS records of one direction of a connection, whose headers are in the clear.

/** Type, version, length (RFC 8446, 5.1; RFC 5246, 6.2.1). */
const headerBytes = 5

const applicationData = 23
const handshake = 22
const serverHello = 2

const tls13 = 0x0304
const supportedVersions = 43

/** The suites of TLS 1.3 whose tag has 16 bytes (RFC 8446, B.4; RFC 5116, 5). */
const ciphers: readonly number[] = [0x1301, 0x1302, 0x1303]

/**
 * Bytes that TLS adds to a record's plaintext, without padding: header, content type and tag (RFC 8446,
 * 5.2).
 */
const overheadBytes = headerBytes + 1 + 16

/**
 * Records of application data, with their headers. In TLS 1.3 the handshake's encrypted messages are
 * among them (RFC 8446, 5.2): count from a moment at which the connection is open.
 */
export interface RecordCounts {
  readonly records: number
  readonly bytes: number
}

/** The version and cipher that a ServerHello chose: 0x0304 is TLS 1.3. */
interface Suite {
  readonly version: number
  readonly cipher: number
}

export class TlsRecords {
  #records = 0
  #bytes = 0
  #header = Buffer.alloc(0)
  /** Type of the current record. */
  #type = 0
  #bodyLeft = 0
  /** The first record, if it is of the handshake, as far as it is known. */
  #hello: Buffer | null = Buffer.alloc(0)
  #suite: Suite | null = null

  get counts(): RecordCounts {
    return { records: this.#records, bytes: this.#bytes }
  }

  /** Null before a ServerHello, and in the direction that has none. */
  get suite(): Suite | null {
    return this.#suite
  }

  /** A record counts when its header is complete. */
  take(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#bodyLeft === 0) at += this.#takeHeader(chunk.subarray(at))
      else at += this.#takeBody(chunk.subarray(at))
    }
  }

  #takeHeader(chunk: Buffer): number {
    const part = chunk.subarray(0, headerBytes - this.#header.length)
    this.#header = Buffer.concat([this.#header, part])
    if (this.#header.length < headerBytes) return part.length
    this.#type = this.#header.readUInt8(0)
    this.#bodyLeft = this.#header.readUInt16BE(3)
    this.#header = Buffer.alloc(0)
    if (this.#type === applicationData) {
      this.#records += 1
      this.#bytes += headerBytes + this.#bodyLeft
    }
    return part.length
  }

  #takeBody(chunk: Buffer): number {
    const part = chunk.subarray(0, this.#bodyLeft)
    this.#bodyLeft -= part.length
    if (this.#hello && this.#type === handshake) this.#hello = Buffer.concat([this.#hello, part])
    if (this.#hello && this.#bodyLeft === 0) {
      this.#suite = suiteIn(this.#hello)
      this.#hello = null
    }
    return part.length
  }
}

/** Null if it is no ServerHello (RFC 8446, 4.1.3). */
function suiteIn(message: Buffer): Suite | null {
  // After the message's type and length: version, random, session.
  const sessionAt = 4 + 2 + 32
  const cipherAt = sessionAt + 1 + (message[sessionAt] ?? 0)
  const extensionsAt = cipherAt + 2 + 1 + 2
  if (message[0] !== serverHello || message.length < extensionsAt) return null
  let version = message.readUInt16BE(4)
  for (let at = extensionsAt; at + 6 <= message.length; at += 4 + message.readUInt16BE(at + 2))
    if (message.readUInt16BE(at) === supportedVersions) version = message.readUInt16BE(at + 4)
  return { version, cipher: message.readUInt16BE(cipherAt) }
}

function requireKnown(suite: Suite | null): void {
  if (suite?.version === tls13 && ciphers.includes(suite.cipher)) return
  const chosen = suite ? `version ${hex(suite.version)} and cipher suite ${hex(suite.cipher)}` : 'no TLS'
  throw new Error(`The overhead of TLS is known only of version 1.3: a connection has ${chosen}.`)
}

const hex = (number: number) => `0x${number.toString(16).padStart(4, '0')}`

/** Both directions of a connection. */
export class TlsConnection {
  readonly up = new TlsRecords()
  readonly down = new TlsRecords()
}

export interface TlsFigures extends RecordCounts {
  readonly overheadBytes: number
}

/** Throws unless all are of TLS 1.3, with a cipher suite that is known. */
export function sumTls(connections: readonly TlsConnection[], way: 'up' | 'down'): TlsFigures {
  let records = 0
  let bytes = 0
  for (const connection of connections) {
    const { counts } = connection[way]
    if (counts.records > 0) requireKnown(connection.down.suite)
    records += counts.records
    bytes += counts.bytes
  }
  return { records, bytes, overheadBytes: records * overheadBytes }
}
