// What this repository's page and lab build on; it may change with every version.

export { browserTimers, newName, now, watchWakeUps } from './browser-services.ts'
export { Connection } from './connection.ts'
export { type DocumentDrafts, documentPolicy, mergingPolicy } from './document-policy.ts'
export { type DraftDatabase, openDraftDatabase, type UnstoredDraft } from './draft-database.ts'
export { DraftKeeper } from './draft-keeper.ts'
export { DraftStore } from './draft-store.ts'
export type { Fall } from './fallback.ts'
export { Link, type LinkListener, type LinkOptions, type LinkState } from './link.ts'
export { LinkClock, whenDue } from './link-clock.ts'
export { fingerprintOf, newKey } from './names.ts'
export { type Drafts, Outbox, type OutboxState } from './outbox.ts'
export { shareHere, shareTransports } from './share/shared-client.ts'
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
