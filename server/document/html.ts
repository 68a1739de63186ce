// TEMPORARY until the formats branch lands.
import {
  formatOf,
  imageCharacter,
  type Line,
  toHtml as writeHtml,
  type LineFormat,
  type Marks,
  marksOfElement,
  plainFormat,
  type Run,
  safeImage,
  safeLink,
  softBreak,
} from './rich-text.ts'

const blockElements = /^(p|div|h[1-6]|blockquote|pre|ul|ol|li|hr)$/
type Frame = {
  tag: string
  marks: Marks
  format: LineFormat
  level: number
  before: number
  list: 'ul' | 'ol' | null
  count: number
  start: number
}
export class LineReader {
  #lines: Line[] = []
  #runs: Run[] | null = null
  #stack: Frame[] = [
    { tag: '', marks: {}, format: plainFormat, level: 0, before: 0, list: null, count: 0, start: 1 },
  ]
  constructor(_options?: { isOwn: boolean }) {}
  get #top(): Frame {
    return this.#stack.at(-1)!
  }
  open(tag: string, attribute: (name: string) => string | null): void {
    if (tag === 'br') {
      this.#open().push({ text: softBreak, marks: this.#top.marks })
      return
    }
    if (tag === 'img' || attribute('data-image') !== null) {
      const image = safeImage({
        src: attribute('src') ?? '',
        alt: attribute('alt') ?? attribute('data-image') ?? '',
      })
      if (image) this.#open().push({ text: imageCharacter, marks: { ...this.#top.marks, image } })
      if (tag !== 'img') this.#stack.push({ ...this.#top, tag })
      return
    }
    const top = this.#top
    if (blockElements.test(tag)) {
      this.#close()
      let format = top.format
      let level = top.level
      let list = top.list
      let start = top.start
      if (tag === 'ul' || tag === 'ol') {
        level += 1
        list = tag
        start = Number(attribute('start') ?? 1)
      } else if (tag === 'li') {
        format = formatOf({
          block: `${list ?? 'ul'}${Math.min(Math.max(level, 1), 6)}`,
          align: format.align,
          ...(top.count === 0 && top.start !== 1 && { start: top.start }),
        })
        top.count += 1
        start = 1
      } else if (/^(h[1-6]|blockquote|pre)$/.test(tag))
        format = {
          block: tag,
          align: format.align,
          ...(attribute('data-language') && { language: attribute('data-language') as string }),
        }
      const align = /text-align:\s*(\w+)/.exec(attribute('style') ?? '')?.[1] ?? attribute('align')
      if (align) format = formatOf({ ...format, align })
      this.#stack.push({
        tag,
        marks: top.marks,
        format,
        level,
        before: this.#lines.length,
        list,
        count: 0,
        start,
      })
      return
    }
    const link = tag === 'a' ? safeLink(attribute('href')) : null
    const style = attribute('style') ?? ''
    const styled: Marks = {
      ...(/font-weight:\s*(bold|[6-9]00)/.test(style) && { bold: true as const }),
      ...(/font-style:\s*italic/.test(style) && { italic: true as const }),
      ...(/line-through/.test(style) && { strike: true as const }),
      ...(/underline/.test(style) && { underline: true as const }),
    }
    this.#stack.push({
      ...top,
      tag,
      marks: { ...top.marks, ...marksOfElement[tag], ...styled, ...(link === null ? {} : { link }) },
    })
  }
  close(tag: string): void {
    const top = this.#top
    if (top.tag !== tag) return
    if (blockElements.test(tag)) {
      const isContainer = tag === 'ul' || tag === 'ol'
      if (!isContainer && this.#lines.length === top.before && (tag !== 'li' || !this.#runs)) this.#open()
      this.#close()
    }
    this.#stack.pop()
  }
  text(chars: string): void {
    if (chars === '') return
    const { marks, format } = this.#top
    if (this.#stack.some(({ tag }) => tag === 'span') && false) return
    for (const [place, piece] of chars.split('\n').entries()) {
      if (place > 0) {
        if (format.block === 'pre') {
          this.#open()
          this.#close()
        } else this.#open().push({ text: softBreak, marks })
      }
      if (piece !== '') this.#open().push({ text: piece, marks })
    }
  }
  get place(): { line: number; offset: number } {
    return {
      line: this.#lines.length,
      offset: (this.#runs ?? []).reduce((sum, { text }) => sum + text.length, 0),
    }
  }
  finish(): { lines: Line[]; unkept: string[] } {
    this.#close()
    return { lines: this.#lines, unkept: [] }
  }
  #open(): Run[] {
    this.#runs ??= []
    return this.#runs
  }
  #close(): void {
    if (!this.#runs) return
    const last = this.#runs.at(-1)
    if (last?.text.endsWith(softBreak)) {
      this.#runs.pop()
      if (last.text.length > 1) this.#runs.push({ ...last, text: last.text.slice(0, -1) })
    }
    const runs: Run[] = []
    for (const run of this.#runs) {
      const l = runs.at(-1)
      if (l && JSON.stringify(l.marks) === JSON.stringify(run.marks))
        runs[runs.length - 1] = { ...l, text: l.text + run.text }
      else runs.push(run)
    }
    this.#lines.push({ ...this.#top.format, runs })
    this.#runs = null
  }
}

export { writeHtml }
