// Extracts the visible text of HTML without a DOM, however malformed.

import { Tokenizer, TokenizerMode } from 'parse5'

/** Elements that start and end a line (WHATWG HTML, 15.3.3 to 15.3.8); others do not split words. */
const lineTags =
  tagNames(`address article aside blockquote body br caption center dd details dialog dir div dl dt
  fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu
  nav ol optgroup option p plaintext pre search section select summary table tbody td tfoot th thead tr ul`)

/** Hidden raw content, ended by the end tag (WHATWG HTML, 13.2.6.4). */
const hiddenTags = tagNames('iframe noembed noframes noscript script style template textarea title xmp')

function tagNames(names: string): ReadonlySet<string> {
  return new Set(names.split(/\s+/))
}

/** Characters per parsing step. */
const pieceLength = 8192

/** One part per piece of HTML, with a line feed at each line's start and end. A part may be empty. */
export function* textOf(html: string): Generator<string> {
  let text = ''
  let isHidden = false
  const ignore = () => undefined
  const take = ({ chars }: { readonly chars: string }) => {
    if (!isHidden) text += chars
  }
  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: false },
    {
      onCharacter: take,
      onWhitespaceCharacter: take,
      onNullCharacter: ignore,
      onComment: ignore,
      onDoctype: ignore,
      onEof: ignore,
      onStartTag({ tagName }) {
        if (lineTags.has(tagName)) text += '\n'
        isHidden = hiddenTags.has(tagName)
        if (isHidden) tokenizer.state = TokenizerMode.RAWTEXT
      },
      onEndTag({ tagName }) {
        if (lineTags.has(tagName)) text += '\n'
        isHidden = false
      },
    },
  )
  for (let place = 0; place < html.length; place += pieceLength) {
    tokenizer.write(html.slice(place, place + pieceLength), place + pieceLength >= html.length)
    yield text
    text = ''
  }
}
