// The library's door for one connection without a link: to measure a transport, or to build on one.

export { browserTimers, newName, now } from './browser-services.ts'
export { Connection } from './connection.ts'
export { fingerprintOf, newKey } from './names.ts'
export { asClosing, askClock, Http, HttpError } from './transports/http.ts'
export { openEventsBy } from './transports/programs.ts'
export type { Send } from './transports/send.ts'
export { lackingTransports, limitToSlots, transportsByName } from './transports/slots.ts'
export {
  BusyError,
  browser,
  type Closing,
  type Opening,
  type OpenTransport,
  type Platform,
  RefusedError,
  type Transports,
  transportsOver,
  type WebTransport,
} from './transports/transport.ts'
