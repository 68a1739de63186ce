// Reads Markdown as a code host shows it: links, headings with their anchors, and samples of code.

/** Fenced blocks, inline code, and then the target of a link or picture. */
const codeOrTarget = /^ *(```+)[\s\S]*?^ *\1$|(`+)(?!`)(?:(?!\n\n)[\s\S])+?(?<!`)\2(?!`)|\]\(([^)\s]+)\)/gm

/** Replaces `](TARGET)`, outside code, by what `replace` returns for the target. */
export function withLinks(markdown: string, replace: (target: string) => string): string {
  return markdown.replaceAll(codeOrTarget, (text, _fence, _quote, target?: string) =>
    target === undefined ? text : replace(target),
  )
}

export function linksIn(markdown: string): string[] {
  const targets: string[] = []
  withLinks(markdown, (target) => {
    targets.push(target)
    return ''
  })
  return targets
}

/** A heading's anchor, as GitHub makes it. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

/** The text of a heading or of the first paragraph, without the signs of links, code and emphasis. */
export function plain(markdown: string): string {
  return markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** A page's title. Throws if it does not begin with one. */
export function titleOf(markdown: string): string {
  const [, title] = /^# (.+)$/m.exec(markdown) ?? []
  if (title === undefined) throw new Error(`A page has no title: ${markdown.slice(0, 60)}`)
  return plain(title)
}

/** The anchors of its headings; those of equal headings are numbered. */
export function anchorsIn(markdown: string): Set<string> {
  const anchors = new Set<string>()
  const withoutBlocks = markdown.replaceAll(/^ *(```+)[\s\S]*?^ *\1$/gm, '')
  for (const [, heading = ''] of withoutBlocks.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = slugOf(plain(heading))
    let anchor = slug
    for (let number = 1; anchors.has(anchor); number += 1) anchor = `${slug}-${number}`
    anchors.add(anchor)
  }
  return anchors
}

export interface Sample {
  /** `js`, `sh` …; empty if the block names none. */
  readonly language: string
  readonly code: string
  /** Of its first line of code in the file, from 1. */
  readonly line: number
}

/** The fenced blocks of a page. */
export function samplesIn(markdown: string): Sample[] {
  const blocks = /^ *(```+)(\w*)\n([\s\S]*?)^ *\1$/gm
  return Array.from(markdown.matchAll(blocks), ({ 2: language = '', 3: code = '', index }) => ({
    language,
    code,
    line: markdown.slice(0, index).split('\n').length + 1,
  }))
}
