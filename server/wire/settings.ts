// What the server tells a page about itself, inside the page (`<script type="application/json">`).

import type { HttpVersion, TransportName } from './modes.ts'

export interface PageSettings {
  readonly transport: TransportName
  readonly http: HttpVersion
  /** Port of each HTTP version's own listener. */
  readonly ports: Readonly<Record<HttpVersion, number>>
  readonly limits: { readonly maxMessageBytes: number }
}
