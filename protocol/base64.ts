// Base64 (RFC 4648, section 4), by what every runtime has.

export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** Throws a `DOMException` if it is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const letters = atob(text)
  const bytes = new Uint8Array(letters.length)
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = letters.charCodeAt(index)
  return bytes
}
