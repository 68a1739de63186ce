// Names for this window and for the browser that it is in.

const browserCookie = 'crosswind-browser'

/** Letters and digits, 50 bits and more of them. */
export function newName(prefix: string): string {
  const parts = crypto.getRandomValues(new Uint32Array(2))
  return prefix + Array.from(parts, (part) => part.toString(36).padStart(7, '0')).join('')
}

/**
 * The same for all windows of a browser profile. A cookie, for cookies alone are shared by a host's ports;
 * the server counts by it how many connections a browser has left.
 */
export function browserName(): string {
  const known = document.cookie.split('; ').find((pair) => pair.startsWith(`${browserCookie}=`))
  const name = known?.slice(browserCookie.length + 1) || newName('b')
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser yet.
  document.cookie = `${browserCookie}=${name}; path=/; max-age=31536000; SameSite=Strict; Secure`
  return name
}
