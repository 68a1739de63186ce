// Judges what a line without good frames sends: nothing, another rate's garbage, damage, other frames or plain text.

/** `nothing`: not a byte of late. The others say what the bytes since the last good frame look like. */
export type Verdict =
  | { readonly kind: 'nothing' | 'configuration' | 'started' | 'few' | 'baud-rate' | 'damaged' | 'format' }
  | { readonly kind: 'text'; readonly excerpt: string }

export interface Evidence {
  /** Whatever came, good or not. */
  bytes(bytes: Uint8Array): void
  /** What the splitter made of it; `isIntact` when its checksum was right, so it is only another format. */
  refused(isIntact: boolean): void
  /** Begins anew: a good frame came, or the port was opened. */
  clear(): void
  judge(): Verdict
  /** What came so far is no news any more: `judge` finds `nothing` unless more comes, or the sensor said why. */
  age(): void
}

/** Fewer bytes than these tell nothing; the shortest frame has 15. */
const fewestBytes = 8
/** Above it counts are halved, so that the newest bytes weigh most. */
const mostBytes = 512
/** Garbage of a wrong rate has far more characters that no instrument sends, a bad cable far fewer. */
const strangeShare = 0.2
const plain = new Set(Buffer.from(`${lettersAndDigits()} ,.:;$*+-/()=_`))
const excerptLength = 24
/** Holds the longest announcement below, however it was cut. */
const tailLength = 64

const STX = 0x02
const ETX = 0x03
const CR = 0x0d
const LF = 0x0a

/** Pure: no clock. Holds counts and the last few characters, whatever comes. */
export function collectEvidence(): Evidence {
  let count = 0
  let strange = 0
  let marks = 0
  let intact = 0
  let isNew = false
  let tail = ''
  let said: 'configuration' | 'started' | null = null

  function take(byte: number): void {
    if (byte === CR || byte === LF) return
    isNew = true
    count += 1
    if (byte === STX || byte === ETX) marks += 1
    else if (!plain.has(byte)) strange += 1
  }

  function forget(): void {
    if (count <= mostBytes) return
    count /= 2
    strange /= 2
    marks /= 2
    intact /= 2
  }

  function judge(): Verdict {
    if (said === 'configuration') return { kind: said }
    if (!isNew) return { kind: said ?? 'nothing' }
    if (intact >= 1) return { kind: 'format' }
    if (count < fewestBytes) return { kind: 'few' }
    if (strange / count > strangeShare) return { kind: 'baud-rate' }
    if (marks > 1) return { kind: 'damaged' }
    return said === null ? { kind: 'text', excerpt: excerptOf(tail) } : { kind: said }
  }

  return {
    judge,
    bytes(bytes) {
      for (const byte of bytes) take(byte)
      forget()
      tail = (tail + Buffer.from(bytes).toString('latin1')).slice(-Math.max(tailLength, bytes.length))
      said = announcementIn(tail) ?? said
      tail = tail.slice(-tailLength)
    },
    refused(wasIntact) {
      marks += 1
      if (wasIntact) intact += 1
    },
    clear() {
      count = strange = marks = intact = 0
      isNew = false
      tail = ''
      said = null
    },
    age() {
      isNew = false
    },
  }
}

/** What the sensor says of itself (manual 1405-PS-0019: configuration mode, power-up banner). The later one holds. */
function announcementIn(text: string): 'configuration' | 'started' | null {
  const configuredAt = text.lastIndexOf('CONFIGURATION MODE')
  const startedAt = Math.max(text.lastIndexOf('WINDSONIC'), text.lastIndexOf('*PASS*'))
  if (configuredAt === -1 && startedAt === -1) return null
  return configuredAt > startedAt ? 'configuration' : 'started'
}

function lettersAndDigits(): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  return `${letters}${letters.toUpperCase()}0123456789`
}

function excerptOf(text: string): string {
  const lines = text.split(/[\r\n]+/).filter((line) => line !== '')
  return (lines.toSorted((a, b) => b.length - a.length)[0] ?? '').slice(0, excerptLength)
}
