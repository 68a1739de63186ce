// Recognizes files that a document cannot contain, by their content, not their names.

import { filetypename } from 'magic-bytes.js'

export interface FileKind {
  /** With an article: "a PDF document". */
  readonly name: string
  /** How to bring its text into a document, as a clause: "open it, and …". */
  readonly advice: string
}

const copy = 'open it, and copy and paste its text'
const save = 'open it, and save it as a web page (HTML) or copy and paste its text'
const unpack = 'unpack it, and import the files in it'
const picture = 'make it a PNG, JPEG, GIF or WebP image below 75 kB, and drop it into the text'
const link = 'put it where it has an address, and insert a link'
const choose = 'choose HTML, Markdown or plain text'

/** By the library's names of types. Others are too short to be certain. */
const kinds: ReadonlyMap<string, FileKind> = new Map(
  (
    [
      ['pdf', 'a PDF document', copy],
      ['ps', 'a PostScript document', copy],
      ['rtf', 'a rich text document (RTF)', save],
      ['doc docx', 'a Word document', save],
      ['odt', 'an OpenDocument text', save],
      ['xls xlsx ods', 'a spreadsheet', 'open it, and copy and paste its cells'],
      ['ppt pptx odp', 'a presentation', copy],
      ['office', 'a document of an older Office program', save],
      ['pages', 'a document of Pages, Numbers or Keynote', copy],
      ['epub', 'an electronic book (EPUB)', copy],
      ['msg', 'an Outlook message', copy],
      ['zip gz bz2 xz 7z rar tar cab', 'a compressed file', unpack],
      ['png jpg gif webp bmp tif tiff ico heif avif psd cr2', 'an image', picture],
      ['mp3 wav flac ogg oga ogx aac mid aiff wma', 'a sound', link],
      ['mp4 mov avi mkv webm asf wmv ogv mpg', 'a film', link],
      ['ttf otf woff woff2', 'a font', choose],
      ['exe ELF Mach-O wasm dex deb rpm', 'a program', choose],
      ['sqlite', 'a database', choose],
    ] as const
  ).flatMap(([types, name, advice]) => types.split(' ').map((type) => [type, { name, advice }] as const)),
)

/** Types whose files may be ASCII from beginning to end. */
const textTypes: ReadonlySet<string> = new Set(['pdf', 'ps', 'rtf'])

/** Types of containers by the names within; the first match counts. */
const contents: ReadonlyMap<string, readonly (readonly [name: RegExp, type: string])[]> = new Map([
  [
    'zip',
    [
      [/mimetypeapplication\/vnd\.oasis\.opendocument\.text/, 'odt'],
      [/mimetypeapplication\/vnd\.oasis\.opendocument\.spreadsheet/, 'ods'],
      [/mimetypeapplication\/vnd\.oasis\.opendocument\.presentation/, 'odp'],
      [/mimetypeapplication\/epub\+zip/, 'epub'],
      [/word\/document\d?\.xml/, 'docx'],
      [/xl\/workbook\.(?:xml|bin)/, 'xlsx'],
      [/ppt\/presentation\.xml/, 'pptx'],
      [/Index\/Document\.iwa|Index\.zip/, 'pages'],
    ],
  ],
  [
    // Its names are in UTF-16.
    'doc',
    [
      [/W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t\0/, 'doc'],
      [/W\0o\0r\0k\0b\0o\0o\0k\0/, 'xls'],
      [/P\0o\0w\0e\0r\0P\0o\0i\0n\0t\0/, 'ppt'],
      [/_\0_\0s\0u\0b\0s\0t\0g\0/, 'msg'],
      [/^/, 'office'],
    ],
  ],
])

/** Null for text that a document can contain, and for unrecognized content. */
export function kindOfFile(bytes: Uint8Array): FileKind | null {
  const start = startOf(bytes)
  const types = filetypename(bytes.subarray(start, start + maxSignatureBytes))
  const type = types.find((type) => kinds.has(type))
  if (type !== undefined && (textTypes.has(type) || isBinary(bytes)))
    return kinds.get(typeInside(type, bytes) ?? type) ?? null
  return kindOfText(latin(bytes.subarray(start, start + maxHeadBytes)), latin(bytes.subarray(-maxTailBytes)))
}

/** Up to the signature of a tar file. */
const maxSignatureBytes = 300
const maxHeadBytes = 50_000
const maxTailBytes = 1000

const blank: ReadonlySet<number | undefined> = new Set([0x09, 0x0a, 0x0d, 0x20])

/** After the byte order mark of UTF-8, and after blank lines. */
function startOf(bytes: Uint8Array): number {
  let start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  while (blank.has(bytes[start])) start += 1
  return start
}

/** Text in UTF-16 contains NULs; other text none. Old text may contain other control characters. */
function isBinary(bytes: Uint8Array): boolean {
  const [first, second] = bytes
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  return !isUtf16 && (bytes.includes(0) || bytes.subarray(0, 8).some(isControl))
}

/** A binary data byte (WHATWG MIME Sniffing, 3), but not the line break of old word processors. */
const isControl = (byte: number) => byte < 0x20 && (byte < 0x09 || byte > 0x0d) && byte !== 0x1b

function typeInside(container: string, bytes: Uint8Array): string | undefined {
  const names = contents.get(container)
  if (!names) return undefined
  const text = latin(bytes)
  return names.find(([name]) => name.test(text))?.[1]
}

/** Keeps ASCII whatever the encoding. */
const latin = (bytes: Uint8Array) => new TextDecoder('latin1').decode(bytes)

/** Header fields that a person would hardly write at the top of a text, unlike `From` and `Subject`. */
const marksOfMessages: readonly (readonly [field: string, value: RegExp])[] = [
  ['mime-version', /^\d/],
  ['message-id', /^</],
  ['received', /^(?:from|by)\s/],
]

/** `head`, `tail`: the beginning and the end of a text, as far as they are ASCII. */
function kindOfText(head: string, tail: string): FileKind | null {
  const fields = fieldsOf(head)
  const isMessage = marksOfMessages.some(([name, value]) => value.test(fields.get(name) ?? ''))
  if (isMessage) {
    const isArchive =
      /^multipart\/related/i.test(fields.get('content-type') ?? '') || fields.has('snapshot-content-location')
    return isArchive
      ? { name: 'a web archive (MHTML)', advice: 'open it in a browser, and save the page as HTML only' }
      : { name: 'an e-mail message', advice: 'open it in a mail program, and copy and paste its text' }
  }
  if (/^<(?:svg[\s>]|\?xml\s|!doctype svg)/i.test(head) && /<\/svg>\s{0,9}$/i.test(tail))
    return { name: 'an SVG image', advice: picture }
  if (/^<\?xml\s/.test(head) && /<(?:office:document|w:wordDocument|pkg:package)[\s>]/.test(head))
    return { name: 'a document saved as XML', advice: save }
  if (/^BEGIN:VCALENDAR/i.test(head)) return { name: 'a calendar', advice: copy }
  if (/^BEGIN:VCARD/i.test(head)) return { name: 'a contact (vCard)', advice: copy }
  if (/^\{/.test(head) && /"nbformat"\s?:\s?\d/.test(tail))
    return { name: 'a Jupyter notebook', advice: 'save it as HTML or Markdown, and import that' }
  if (/^-----BEGIN PGP MESSAGE-----/.test(head))
    return { name: 'an encrypted message', advice: 'decrypt it first' }
  if (/^-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(head))
    return { name: 'a private key', advice: 'everyone who may read the document would have it' }
  return null
}

/**
 * Fields of a message's header (RFC 5322, 2.2), by names in lower case; none if the text does not begin
 * with one. An mbox and files of Apple Mail have a line before them.
 */
function fieldsOf(head: string): ReadonlyMap<string, string> {
  const lines = head.split(/\r?\n/)
  if (/^From \S|^\d+ *$/.test(lines[0] ?? '')) lines.shift()
  const end = lines.indexOf('')
  const fields = new Map<string, string>()
  let last = ''
  // The last line may be cut.
  for (const line of lines.slice(0, end < 0 ? -1 : end)) {
    const [, name = '', value = ''] = /^([!-9;-~]+):(.*)$/.exec(line) ?? []
    if (/^[ \t]/.test(line) && last !== '') fields.set(last, fields.get(last) || line.trim())
    else if (name === '') return new Map()
    else {
      last = name.toLowerCase()
      fields.set(last, value.trim())
    }
  }
  return fields
}
