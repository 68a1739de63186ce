// The Cache API in memory, for tests: what the page and its service worker use of it.

/** `fetch`: what `addAll` gets for an address. */
export function createFakeCaches(origin: string) {
  const all = new Map<string, FakeCache>()
  const fakes = {
    fetch: (_url: string): Promise<Response> => Promise.reject(new TypeError('Failed to fetch')),
    storage: {
      async open(name: string): Promise<Cache> {
        const cache = all.get(name) ?? new FakeCache(origin, (url) => fakes.fetch(url))
        all.set(name, cache)
        return cache as unknown as Cache
      },
      keys: async () => [...all.keys()],
      delete: async (name: string) => all.delete(name),
      match: async (asked: RequestInfo | URL, { cacheName = '' }: MultiCacheQueryOptions = {}) =>
        all.get(cacheName)?.match(asked),
    },
  }
  return fakes
}

class FakeCache {
  readonly #entries = new Map<string, Response>()
  readonly #origin: string
  readonly #fetch: (url: string) => Promise<Response>

  constructor(origin: string, fetch: (url: string) => Promise<Response>) {
    this.#origin = origin
    this.#fetch = fetch
  }

  async put(asked: RequestInfo | URL, response: Response): Promise<void> {
    const url = this.#urlOf(asked)
    // A replaced one becomes the newest.
    this.#entries.delete(url)
    this.#entries.set(url, response)
  }

  async addAll(asked: string[]): Promise<void> {
    for (const one of asked) await this.put(one, await this.#fetch(this.#urlOf(one)))
  }

  async match(asked: RequestInfo | URL): Promise<Response | undefined> {
    return this.#entries.get(this.#urlOf(asked))?.clone()
  }

  async keys(): Promise<readonly { readonly url: string }[]> {
    return Array.from(this.#entries.keys(), (url) => ({ url }))
  }

  async delete(asked: RequestInfo | URL): Promise<boolean> {
    return this.#entries.delete(this.#urlOf(asked))
  }

  #urlOf(asked: RequestInfo | URL): string {
    return new URL(typeof asked === 'object' && 'url' in asked ? asked.url : asked, this.#origin).href
  }
}
