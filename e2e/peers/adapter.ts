// Interface of adapters: how the lab starts a system, and how a page uses it (docs/adapters.md).

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2SecureServer, Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Server } from 'node:https'
import type { Ports } from '../lab/server-process.ts'

/** A module with these exports. */
export interface Adapter {
  /** Runs in a process of its own, once per session. */
  readonly start: (lab: Host) => Started | Promise<Started>
  /**
   * Runs in each window: opens a connection, and resolves to a function that sends a message. The
   * page measures what that has made of the message when it returns.
   */
  readonly open: (page: Page) => Promise<(message: PageMessage) => unknown>
}

/** Means that an adapter may use to start its system. */
export interface Host {
  /** Address after the adapter's name, as in `./adapter.mjs=https://host:8000`. */
  readonly address: string | undefined
  /** The servers of the page: a system may attach to them, and then needs no address. */
  readonly servers: { readonly '2': Http2SecureServer; readonly '1.1': Server }
  /** A free port, for a system that has one of its own. */
  readonly port: number
  /** Where a system listens that is to be reached by simulated networks. */
  readonly host: string
  /** For `localhost`; the lab's browser accepts it. PEM, and the names of the files. */
  readonly cert: string
  readonly key: string
  readonly certFile: string
  readonly keyFile: string
  /** For the report. Throws if the package is not installed beside the adapter. */
  readonly versionOf: (packageName: string) => string
  /** Deliberate fault of the bare relay, or empty. */
  readonly fault: string
}

export interface Started {
  /** Crosswind's mode with the same transport, which it is compared with: `sse/2`; or several. */
  readonly mode: string | readonly string[]
  /** Absent if the system uses the page's servers. */
  readonly address?: string | undefined
  /** The process whose use is measured; unknown if absent, unless the system runs in this process. */
  readonly pid?: number | undefined
  /** For the report. */
  readonly version?: string | undefined
  /** Whatever else the page needs, as JSON. It is not in the report. */
  readonly page?: object | undefined
  /** Answers requests to the page's servers that are not for the page. */
  readonly answer?: ((request: IncomingMessage, response: ServerResponse) => unknown) | undefined
  /**
   * Opens ports of its own in place of the page's servers: `answer` has the page, for requests that
   * are not the system's.
   */
  readonly listen?: ((answer: PageAnswer) => Promise<Ports>) | undefined
}

export type PageAnswer = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void

export interface Page {
  /** The system's, else the page's own origin. */
  readonly address: string
  /** The mode to use: one of the adapter's. */
  readonly mode: string
  /** Only windows with the same one exchange messages. */
  readonly channel: string
  /**
   * Takes what another window, or this one, has sent: an object, or its JSON. `show`: of messages
   * that have no HTML, or are not shown at once.
   */
  readonly receive: (message: unknown, show?: (message: never, shown: Shown) => void) => void
  /** Fields that `start` returned as `page`. */
  readonly [more: string]: unknown
}

/** Called once a message is in the document, and once it is painted, if the adapter knows. */
export interface Shown {
  readonly applied: () => void
  readonly painted: () => void
}

/** Crosswind's envelope, so that payloads are equal. An adapter passes it on as it is. */
export interface PageMessage {
  readonly id: string
}

/** A relay may add the time of acceptance, which separates uplink from downlink in the report. */
export const accepted = <Message extends object>(message: Message) => ({
  acceptedAt: performance.timeOrigin + performance.now(),
  ...message,
})

/** The same for JSON. */
export const acceptedText = (message: string) =>
  message.replace('{', `{"acceptedAt":${performance.timeOrigin + performance.now()},`)
