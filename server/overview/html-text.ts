// Reads the text of HTML as a window would show it, without a DOM: in one pass, however damaged it is.

import { decodeReferences } from './references.ts'

/** Elements that begin and end a line (WHATWG HTML, 15.3.3 to 15.3.8). Words go on through all others. */
const lineTags = `address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset
  figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu nav ol
  optgroup option p plaintext pre search section select summary table tbody td tfoot th thead tr ul`

/** What is in these is not shown, and is no markup: it ends with their end tag (WHATWG HTML, 13.2.6.4). */
const hiddenTags = 'iframe noembed noframes noscript script style template textarea title xmp'

const isLineTag = testFor(lineTags)
const isHiddenTag = testFor(hiddenTags)

function testFor(names: string): (name: string) => boolean {
  const known = new Set(names.split(/\s+/))
  return (name) => known.has(name)
}

/** A part is about as long as this, or is what so many tags and texts between them made. */
const partLength = 8192
const partPieces = 1000

/** The text in parts, in order, with a line feed where a line ends; empty parts where there is much markup and no text. */
export function* textOf(html: string): Generator<string> {
  let text = ''
  let pieces = 0
  for (let place = 0; place < html.length; ) {
    const markup = markupAt(html, place)
    const end = markup ? markup.end : endOfText(html, place)
    text += markup ? markup.text : decodeReferences(html.slice(place, end))
    place = end
    pieces += 1
    if (text.length < partLength && pieces < partPieces) continue
    yield text
    text = ''
    pieces = 0
  }
  yield text
}

interface Markup {
  /** What stands for it in the text. */
  readonly text: '' | '\n'
  /** The place after it. What is not closed goes on to the end, and nothing of it is shown. */
  readonly end: number
}

/** The tag or comment that begins there, with what it hides; null for text. */
function markupAt(html: string, place: number): Markup | null {
  if (html.charCodeAt(place) !== codes['<']) return null
  const next = html.charCodeAt(place + 1)
  if (isLetter(next)) return tagFrom(html, place + 1, false)
  if (next === codes['/'] && isLetter(html.charCodeAt(place + 2))) return tagFrom(html, place + 2, true)
  if (html.startsWith('<!--', place)) return { text: '', end: after(endsOfComments, html, place + 2) }
  const isEndOfAll = next === codes['/'] && place + 2 === html.length
  const isBogusComment = next === codes['!'] || next === codes['?'] || next === codes['/']
  return isBogusComment && !isEndOfAll ? { text: '', end: after(endsOfTags, html, place + 2) } : null
}

const codes = { '<': 0x3c, '/': 0x2f, '!': 0x21, '?': 0x3f } as const

function isLetter(code: number): boolean {
  const small = code | 0x20
  return small >= 0x61 && small <= 0x7a
}

const endsOfTags = />/g
/** Its two first dashes may be its last ones as well. */
const endsOfComments = /-->|(?<!<!)--!>/g
const beforeEndOfName = /(?=[\t\n\f\r />])/g
const afterEqualsOrEnd = /=[\t\n\f\r ]*|>/g
const beforeEndOfValue = /(?=[\t\n\f\r >])/g
const nextQuote = { '"': /"/g, "'": /'/g } as const

function tagFrom(html: string, start: number, isEndTag: boolean): Markup {
  const endOfName = after(beforeEndOfName, html, start)
  const name = html.slice(start, endOfName).toLowerCase()
  const end = endOfTag(html, endOfName)
  return {
    text: isLineTag(name) ? '\n' : '',
    end: isEndTag || !isHiddenTag(name) ? end : endOfHidden(html, name, end),
  }
}

/** A ">" within an attribute's value ends nothing. A quotation mark that does not begin a value is a letter. */
function endOfTag(html: string, start: number): number {
  let place = start
  while (place < html.length) {
    place = after(afterEqualsOrEnd, html, place)
    if (html[place - 1] === '>') return place
    const first = html[place]
    const isQuoted = first === '"' || first === "'"
    place = isQuoted ? after(nextQuote[first], html, place + 1) : after(beforeEndOfValue, html, place)
  }
  return place
}

function endOfHidden(html: string, name: string, start: number): number {
  return after(new RegExp(`(?=</${name}[\\t\\n\\f\\r />])`, 'gi'), html, start)
}

/** Before the next "<"; in a long text where neither a word nor a reference is cut, if there is such a place. */
function endOfText(html: string, place: number): number {
  const next = html.indexOf('<', place + 1)
  const end = next < 0 ? html.length : next
  if (end - place <= partLength) return end
  const gap = html.slice(place + partLength, end).search(/[\s;]/)
  return gap < 0 ? end : place + partLength + gap + 1
}

/** The place after the pattern's next match, which may be of no length; the end where there is none. */
function after(pattern: RegExp, html: string, place: number): number {
  pattern.lastIndex = place
  return pattern.test(html) ? pattern.lastIndex : html.length
}
