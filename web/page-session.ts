// The page's browser key, the mode that its address requests, and the guest's session.

import type { PageSettings } from '../app/shared/page-messages.ts'
import type { DraftDatabase } from '../client/drafts.ts'
import { fingerprintOf, HttpError, newKey } from '../client/transports.ts'
import { excerptOf } from '../protocol/graphemes.ts'
import { keyPattern } from '../protocol/messages.ts'
import {
  modeFor,
  modes,
  transportNames,
  type WindowHttp,
  type WindowMode,
  windowHttpVersions,
  windowModes,
} from '../protocol/modes.ts'
import type { Timers } from '../protocol/time.ts'
import { openHttp } from './axios-http.ts'
import { type ChoiceStorage, keepItem, readItem } from './store.ts'

const windowKey = 'crosswind-window'

/**
 * Records this tab's window; returns the one before it, null in a new tab. `items` may throw where
 * storage is denied; if it is full, the one before stays recorded.
 */
export function succeed(items: ChoiceStorage, window: string): string | null {
  const before = readItem(items, windowKey)
  keepItem(items, windowKey, window)
  return before
}

/**
 * `__Host-`: this host only, over TLS only (RFC 6265bis, 4.1.3.2). Unlike storage, cookies are shared by a
 * host's ports.
 */
const keyCookie = '__Host-crosswind-key'

export type BrowserKey = Awaited<ReturnType<typeof browserKey>>

/**
 * A secret that proves names beginning with its fingerprint. It is in the database of drafts, and so is lost
 * only together with the drafts made under it; a cookie passes it to the host's other port.
 */
export async function browserKey(database: Pick<DraftDatabase, 'key'>) {
  const key = await database.key(keyIn(document.cookie) ?? newKey())
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser yet.
  document.cookie = `${keyCookie}=${key}; path=/; max-age=31536000; SameSite=Strict; Secure`
  return { key, fingerprint: await fingerprintOf(key) }
}

function keyIn(cookies: string): string | null {
  const pair = cookies.split('; ').find((cookie) => cookie.startsWith(`${keyCookie}=`))
  const key = pair?.slice(keyCookie.length + 1) ?? ''
  return keyPattern.test(key) ? key : null
}

type PageLocation = Pick<Location, 'origin' | 'protocol' | 'hostname' | 'port'>

/** A page from another port came through a proxy. */
export function isDirect({ ports }: Pick<PageSettings, 'ports'>, page: PageLocation): boolean {
  return Object.values(ports).includes(Number(page.port || 443))
}

/** Includes modes over HTTP/3 if the server has a front of its own, or its settings say so. */
export function offeredModes(settings: Pick<PageSettings, 'ports' | 'http'>): readonly WindowMode[] {
  return windowModes.filter(({ http }) => offeredVersions(settings).includes(http))
}

const offeredVersions = ({ ports, http }: Pick<PageSettings, 'ports' | 'http'>) =>
  windowHttpVersions.filter((version) => version in ports || version === http)

/** Origin for an HTTP version: a proxy serves all versions, and a server without a front has no HTTP/3. */
export function originFor(http: WindowHttp, settings: PageSettings, page: PageLocation): string {
  if (!isDirect(settings, page)) return page.origin
  return `${page.protocol}//${page.hostname}:${settings.ports[http] ?? settings.ports['2']}`
}

/** Where the server's endpoints are, for an HTTP version. */
export const baseFor = (...given: Parameters<typeof originFor>) => `${originFor(...given)}/api`

/** `?transport=…&http=…` overrides the server's default; unknown values are ignored, with a notice. */
export function modeAsked(
  settings: PageSettings,
  search: string,
): { readonly mode: WindowMode; readonly notice: string | null } {
  const query = new URLSearchParams(search)
  const faults: string[] = []

  function known<Name extends string>(what: string, asked: string | null, names: readonly Name[]) {
    const value = names.find((name) => name === asked)
    if (asked && !value) faults.push(`There is no ${what} “${excerptOf(asked, 41)}”: use ${inWords(names)}.`)
    return value
  }

  const transport = known('transport', query.get('transport'), transportNames) ?? settings.transport
  const http = known('HTTP version', query.get('http'), offeredVersions(settings)) ?? settings.http
  const mode = modeFor(transport, http) ?? (modes[0] as WindowMode)
  const notice = faults.length === 0 ? null : `${faults.join(' ')} This window uses ${mode.label}.`
  return { mode, notice }
}

const inWords = (names: readonly string[]) => new Intl.ListFormat('en', { type: 'disjunction' }).format(names)

/** An address without a mode asks for `standard`, the server's choice. */
export function addressInMode(href: string, mode: WindowMode, standard: WindowMode | undefined): string {
  const address = new URL(href)
  for (const name of ['transport', 'http'] as const)
    if (mode.name === standard?.name) address.searchParams.delete(name)
    else address.searchParams.set(name, mode[name])
  return address.href
}

/** `expiresAt`: ms since the epoch; null without invitations. Rejects with an `HttpError`, 401 if it has ended. */
export const renewSession = (): Promise<{ readonly expiresAt: number | null } | null> =>
  openHttp().post('/session')

const soonestMs = 5000
const latestMs = 24 * 3_600_000

/** Renews before `endsAt` (ms since the epoch; null for never), since an ended session cannot be renewed. */
export function keepSession(timers: Timers, endsAt: number | null, renew: typeof renewSession): void {
  function renewBefore(time: number | null): void {
    // Half the remaining time is left for sleep or an outage.
    if (time !== null) renewIn((time - timers.now()) / 2)
  }

  function renewIn(delayMs: number): void {
    timers.later(renewNow, Math.min(latestMs, Math.max(soonestMs, delayMs)))
  }

  function renewNow(): void {
    renew().then(
      (session) => renewBefore(session?.expiresAt ?? null),
      (error) => {
        const hasEnded = error instanceof HttpError && error.status === 401
        if (!hasEnded) renewIn(soonestMs)
      },
    )
  }

  renewBefore(endsAt)
}
