// The number that each message carries in its content, found again in whatever bytes a window receives.

const opening = '<p>#'
const openingBytes = Buffer.from(opening)
const hash = 0x23
const zero = 0x30
const nothing = Buffer.alloc(0)

/** A small edit, some 60 bytes. The mark survives JSON, and JSON within JSON. */
export function markedHtml(number: number): string {
  return `${opening}${number}# The wind turns north-west, five metres a second.</p>`
}

/**
 * Looks for marks and nothing else, so that a client costs little beside the server that it measures: frames need not be
 * taken apart, for no acknowledgement and no heartbeat carries any content. Bytes may come cut anywhere.
 */
export function createMarkReader(onMark: (number: number) => void): (bytes: Buffer) => void {
  let rest: Buffer = nothing

  return (bytes) => {
    const all = rest.length > 0 ? Buffer.concat([rest, bytes]) : bytes
    rest = nothing
    let at = all.indexOf(openingBytes)
    while (at >= 0) {
      let number = 0
      let end = at + openingBytes.length
      for (; end < all.length && all[end] !== hash; end += 1) number = number * 10 + (all[end] ?? zero) - zero
      if (end === all.length) {
        rest = Buffer.from(all.subarray(at))
        return
      }
      onMark(number)
      at = all.indexOf(openingBytes, end)
    }
    rest = cutOpening(all)
  }
}

/** A copy of the end where a mark may have begun: a view would keep the whole read in memory, for each window. */
function cutOpening(all: Buffer): Buffer {
  const at = all.indexOf(openingBytes[0] ?? 0, Math.max(0, all.length - openingBytes.length + 1))
  return at < 0 ? nothing : Buffer.from(all.subarray(at))
}
