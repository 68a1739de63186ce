// Server-sent events as text: writer and reader (WHATWG HTML, 9.2; parsing 9.2.5, 9.2.6).

export interface SseEvent {
  /** Empty or absent means `message`. */
  readonly event?: string
  readonly id?: string
  /** CR, LF and CRLF all arrive as LF. */
  readonly data: string
}

const lineEnd = /\r\n|\r|\n/

/**
 * Throws a `TypeError` if `event` or `id` contains a line end or NUL, which would end the field
 * early.
 */
export function formatEvent({ event, id, data }: SseEvent): string {
  const lines = data.split(lineEnd).map((line) => `data: ${line}\n`)
  return `${field('event', event)}${field('id', id)}${lines.join('')}\n`
}

function field(name: string, value = ''): string {
  if (/[\r\n\0]/.test(value))
    throw new TypeError(`SSE ${name} must be one line, got ${JSON.stringify(value)}`)
  return value === '' ? '' : `${name}: ${value}\n`
}

/**
 * Parses a stream as browsers do; `push` accepts chunks cut anywhere. An id persists for later
 * events.
 */
export function createSseReader(onEvent: (event: Required<SseEvent>) => void) {
  let rest = ''
  let isFirst = true
  let id = ''
  let event = ''
  let data: string[] = []

  function take(line: string): void {
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
    push(text: string): void {
      rest += isFirst && text.startsWith('\uFEFF') ? text.slice(1) : text
      if (text !== '') isFirst = false
      // A trailing CR may be half of a CRLF: keep it for the next chunk.
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
