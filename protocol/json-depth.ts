// Measures the depth and number of values of a JSON text, before anything recurses into it.

/** Maximum levels of lists and objects in clients' data. Deeper values break readers that recurse. */
export const maxJsonDepth = 100

const codes = {
  quote: 0x22,
  comma: 0x2c,
  list: 0x5b,
  backslash: 0x5c,
  listEnd: 0x5d,
  object: 0x7b,
  objectEnd: 0x7d,
}

/**
 * `depth` is 0 for a value that is neither a list nor an object; `values` counts each element and
 * field at least once. The text is not checked.
 */
export function measureJson(text: string): { readonly depth: number; readonly values: number } {
  let level = 0
  let depth = 0
  let values = 1
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === codes.quote) index = endOfString(text, index)
    else if (code === codes.comma) values += 1
    else if (code === codes.list || code === codes.object) {
      level += 1
      values += 1
      if (level > depth) depth = level
    } else if (code === codes.listEnd || code === codes.objectEnd) level -= 1
  }
  return { depth, values }
}

/** Returns the index of the quote that ends the string; the text's length if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text.charCodeAt(first - 1) === codes.backslash) first -= 1
    if ((end - first) % 2 === 0) return end
  }
  return text.length
}
