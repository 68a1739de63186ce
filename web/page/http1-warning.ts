// Warns before a browser runs out of connections: over HTTP/1.1 a window too many hangs without an error.

import { type Mode, modes } from '../../server/wire/modes.ts'

export interface Http1Warning {
  readonly sentence: string
  /** A mode of the same transport without that limit; undefined when the table has none. */
  readonly wayOut: Mode | undefined
}

const numerals = ['No', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine', 'Ten']

/** The warning for a window in this mode, or null while the next window still has room. */
export function http1Warning(mode: Mode | undefined, browserHttp1Streams: number): Http1Warning | null {
  if (!mode || mode.windowsPerBrowser === null || browserHttp1Streams < mode.windowsPerBrowser) return null
  // The limit leaves one connection for the uplinks, so a browser has one more than it.
  const connections = mode.windowsPerBrowser + 1
  const outlook =
    browserHttp1Streams < connections
      ? 'The next window would leave none for typing, and the one after would hang without an error.'
      : 'That leaves none for typing, and the next window would hang without an error.'
  return {
    sentence: `${windowsOpen(browserHttp1Streams)} over HTTP/${mode.http}, and a browser opens ${inWords(connections).toLowerCase()} connections to a host. ${outlook}`,
    wayOut: modes.find((other) => other.transport === mode.transport && other.windowsPerBrowser === null),
  }
}

function windowsOpen(count: number): string {
  return count === 1
    ? 'One window of this browser is open'
    : `${inWords(count)} windows of this browser are open`
}

function inWords(count: number): string {
  return numerals[count] ?? String(count)
}
