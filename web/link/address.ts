// Where a mode's listener is, and which mode a page starts with.

import { type HttpVersion, type Mode, modeFor, modes } from '../../server/wire/modes.ts'
import type { PageSettings } from '../../server/wire/settings.ts'

interface Place {
  readonly origin: string
  readonly protocol: string
  readonly hostname: string
  readonly port: string
  readonly search: string
}

/**
 * Origin of the listener for an HTTP version. A page that came from neither of the server's ports came
 * through a proxy: then there is one origin only, the page's own.
 */
export function originFor(http: HttpVersion, { ports }: PageSettings, place: Place): string {
  const isDirect = Object.values(ports).includes(Number(place.port || 443))
  return isDirect ? `${place.protocol}//${place.hostname}:${ports[http]}` : place.origin
}

/** `?transport=…&http=…` goes before the server's default; what names no mode is left aside. */
export function firstMode({ transport, http }: PageSettings, search: string): Mode {
  const query = new URLSearchParams(search)
  const wished = modeFor(query.get('transport') ?? transport, query.get('http') ?? http)
  return wished ?? modeFor(transport, http) ?? (modes[0] as Mode)
}

/** The same page in another mode, as an address to open or to show. */
export function addressInMode(href: string, mode: Mode): string {
  const address = new URL(href)
  address.searchParams.set('transport', mode.transport)
  address.searchParams.set('http', mode.http)
  return address.href
}
