// Has serialport read at once when bytes arrive.

import type { EventEmitter } from 'node:events'
import type { SerialPort } from 'serialport'

/** Where serialport gives no sign of arriving bytes, something has to look that often. */
const lookEveryMs = 4

const nothing = () => undefined

/**
 * From Node 26.4 on, serialport 13 learns of arriving bytes but reads them only in the next turn of the event loop that
 * something else begins, be it seconds later (serialport/node-serialport, issue 3148). So each sign of arriving bytes begins
 * a turn here; where there is none (Windows), a timer does while the port is open. Harmless where that is mended.
 */
export function readAtOnce(port: SerialPort): void {
  port.on('open', () => {
    const poller = pollerOf(port.port)
    if (poller === null) turnOften(port)
    else for (const sign of ['readable', 'writable']) poller.on(sign, () => setImmediate(nothing))
  })
}

function pollerOf(binding: object | undefined): EventEmitter | null {
  return binding !== undefined && 'poller' in binding ? (binding.poller as EventEmitter) : null
}

function turnOften(port: SerialPort): void {
  const timer = setInterval(nothing, lookEveryMs).unref()
  port.once('close', () => clearInterval(timer))
}
