// Documents as this browser last had them, to show while the server is away.

import type { PageStart } from '../app/shared/page-messages.ts'
import { invitationCookie, keptPagesPrefix } from '../app/shared/page-paths.ts'
import type { Cancel, Timers } from '../protocol/time.ts'

export interface KeptPage {
  readonly start: PageStart
  /** Ms since the epoch. */
  readonly keptAt: number
}

/** For the service worker, which writes it: a page that ends gets no further turn. */
export interface Keeping {
  /** Name of the cache. */
  readonly name: string
  /** The path that was opened, and that of its document. */
  readonly address: string
  readonly path: string
  /** In JSON; null to keep it no longer. */
  readonly page: string | null
}

interface KeptPagesParts {
  /** Throws where the browser denies storage. */
  readonly storage: () => Pick<CacheStorage, 'match'>
  /** `document.cookie` */
  readonly cookies: () => string
}

/**
 * The pages of one invitation cannot be found with another, nor after its session has ended: then its cookie
 * is gone.
 */
export class KeptPages {
  readonly #parts: KeptPagesParts

  constructor(parts: KeptPagesParts) {
    this.#parts = parts
  }

  /** `path`: of the page's address. Null if there is none that may be shown. */
  async read(path: string): Promise<KeptPage | null> {
    try {
      const found = await this.#parts.storage().match(path, { cacheName: this.#name })
      return found ? await found.json() : null
    } catch {
      return null
    }
  }

  /** Null if it must not be kept: the session has ended, or began before there was this cookie. */
  keeping(address: string, path: string, page: KeptPage | null): Keeping | null {
    if (page !== null && page.start.sessionEndsAt !== null && this.#invitation === '') return null
    return { name: this.#name, address, path, page: page && JSON.stringify(page) }
  }

  get #invitation(): string {
    const pairs = this.#parts.cookies().split('; ')
    return (
      pairs.find((pair) => pair.startsWith(`${invitationCookie}=`))?.slice(invitationCookie.length + 1) ?? ''
    )
  }

  get #name(): string {
    return keptPagesPrefix + this.#invitation
  }
}

/** Pages kept by this browser. */
export const keptPages = () => new KeptPages({ storage: () => caches, cookies: () => document.cookie })

/** An unbroken run of changes is kept this often. */
const keepPauseMs = 30_000

export interface PageKeeperParts {
  /** Null: there is no document any more. */
  readonly keep: (page: KeptPage | null) => void
  readonly timers: Timers
  readonly isOpen: () => boolean
  /** Null for none; `erased` if the server has no document any more. */
  readonly snapshot: () => PageStart | 'erased' | null
}

/** Keeps one window's page. */
export class PageKeeper {
  readonly #parts: PageKeeperParts
  #stopTimer: Cancel | null = null

  constructor(parts: PageKeeperParts) {
    this.#parts = parts
  }

  changed(): void {
    this.#stopTimer ??= this.#parts.timers.later(() => {
      this.#stopTimer = null
      this.leave()
    }, keepPauseMs)
  }

  /** The window may end at any moment. Text typed without a connection is among the drafts. */
  leave(): void {
    if (this.#parts.isOpen()) this.keep()
  }

  /** Also call when the connection is lost. */
  keep(): void {
    const { keep, timers, snapshot } = this.#parts
    this.#stopTimer?.()
    this.#stopTimer = null
    const start = snapshot()
    if (start === 'erased') keep(null)
    else if (start) keep({ start, keptAt: timers.now() })
  }
}

/**
 * Resolves to the worker that opens the page while the server is away; to null where the browser allows none, as
 * with a certificate that it does not trust, or in some private windows.
 */
export async function registerServiceWorker(
  container: Pick<ServiceWorkerContainer, 'register'> | undefined,
  path: string,
): Promise<ServiceWorker | null> {
  try {
    if (!container) throw new Error('This window has no service workers.')
    const { installing, waiting, active } = await container.register(path, { updateViaCache: 'none' })
    const worker = installing ?? waiting
    if (active || !worker) return active
    return await new Promise((resolve) => {
      worker.addEventListener('statechange', () => {
        if (worker.state === 'activated') resolve(worker)
        else if (worker.state === 'redundant') resolve(null)
      })
    })
  } catch (error) {
    console.info(`While its server is away, this page cannot be opened again here. ${error}`)
    return null
  }
}
