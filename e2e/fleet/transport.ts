// A window's transports without a browser: the contract of `web/transports`, in Node, so that the real link runs on them.

import type { Opening, OpenTransport } from '../../web/transports/transport.ts'

export interface FleetOpening extends Opening {
  /** Certificate to trust, PEM. */
  readonly ca: string
  /** A session's cookie, `name=value`. */
  readonly cookie?: string | undefined
}

export interface FleetTransport extends Required<OpenTransport> {
  /** Stops reading from the connection, and reads on. */
  readonly pause: () => void
  readonly resume: () => void
  /** Breaks the connection as a network does, without a word. */
  readonly cut: () => void
}

export type OpenFleetTransport = (opening: FleetOpening) => FleetTransport
