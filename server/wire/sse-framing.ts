// Server-sent events as text: writing one so that no data can break out of it, and reading a stream of them.
// WHATWG HTML, 9.2 "Server-sent events" (9.2.5 parsing, 9.2.6 interpreting).

export interface SseEvent {
  /** The event's name; empty or absent means `message`. */
  readonly event?: string
  readonly id?: string
  /** Any text. CR, LF and CRLF all arrive as LF: the format cannot tell them apart. */
  readonly data: string
}

const lineEnd = /\r\n|\r|\n/

/** One event, ready to be sent. Throws when `event` or `id` holds a line end or NUL, which would end the field early. */
export function formatEvent({ event, id, data }: SseEvent): string {
  const name = event ? `event: ${field('event', event)}\n` : ''
  const place = id === undefined ? '' : `id: ${field('id', id)}\n`
  const lines = data.split(lineEnd).map((line) => `data: ${line}\n`)
  return `${name}${place}${lines.join('')}\n`
}

function field(name: string, value: string): string {
  if (/[\r\n\0]/.test(value))
    throw new TypeError(`SSE ${name} must be one line, got ${JSON.stringify(value)}`)
  return value
}

export interface SseReader {
  /** Takes text as it comes, however it is cut; calls back for each complete event. */
  readonly push: (text: string) => void
}

/** Reads a stream as a browser does. `lastId` carries over from event to event, as the standard says. */
export function createSseReader(onEvent: (event: Required<SseEvent>) => void): SseReader {
  let rest = ''
  let isFirst = true
  let id = ''
  let event = ''
  let data: string[] = []

  function take(line: string): void {
    if (line.startsWith(':')) return
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'data') data.push(value)
    else if (name === 'event') event = value
    else if (name === 'id' && !value.includes('\0')) id = value
  }

  function dispatch(): void {
    if (data.length > 0) onEvent({ event: event || 'message', id, data: data.join('\n') })
    event = ''
    data = []
  }

  return {
    push(text) {
      rest += isFirst && text.startsWith('\uFEFF') ? text.slice(1) : text
      if (text !== '') isFirst = false
      // A CR at the very end may be the first half of a CRLF: it waits for what follows.
      const held = rest.endsWith('\r') ? '\r' : ''
      const lines = rest.slice(0, rest.length - held.length).split(lineEnd)
      rest = (lines.pop() ?? '') + held
      for (const line of lines) {
        if (line === '') dispatch()
        else take(line)
      }
    },
  }
}
