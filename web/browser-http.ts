// The HTTP version that the browser uses for each origin (W3C Resource Timing, nextHopProtocol).

/** By their ALPN names (RFC 7301; RFC 9114, section 3.1). */
const versions: ReadonlyMap<string, string> = new Map([
  ['http/1.0', '1.0'],
  ['http/1.1', '1.1'],
  ['h2', '2'],
  ['h3', '3'],
])

type Entry = Pick<PerformanceResourceTiming, 'entryType' | 'name' | 'nextHopProtocol' | 'transferSize'>

/** Behind a proxy the server sees only what the proxy speaks to it. */
export class BrowserHttp {
  readonly #newest = new Map<string, string>()

  /** Such as `3`; null while none of its answers was seen. */
  versionFor(origin: string): string | null {
    return this.#newest.get(origin) ?? null
  }

  /** Whether the version for an origin changed. */
  take(entries: readonly Entry[]): boolean {
    let isChanged = false
    for (const { entryType, name, nextHopProtocol, transferSize } of entries) {
      const { origin, pathname } = new URL(name)
      const version = versions.get(nextHopProtocol)
      // A cached answer has the protocol of its time.
      const isFresh = transferSize > 0 && (entryType === 'navigation' || pathname.startsWith('/api/'))
      if (version === undefined || !isFresh || this.#newest.get(origin) === version) continue
      this.#newest.set(origin, version)
      isChanged = true
    }
    return isChanged
  }

  /** Calls back on each change, also for what was loaded before. */
  watch(onChange: () => void): void {
    const observer = new PerformanceObserver((list) => {
      if (this.take(list.getEntries() as PerformanceResourceTiming[])) onChange()
    })
    for (const type of ['navigation', 'resource']) observer.observe({ type, buffered: true })
  }
}
