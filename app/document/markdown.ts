// Reads and writes Markdown: CommonMark with GitHub's tables, tasks, strikethrough and autolinks.

import type { ListItem, List as ListNode, PhrasingContent, RootContent } from 'mdast'
import { gfmToMarkdown } from 'mdast-util-gfm'
import { toMarkdown } from 'mdast-util-to-markdown'
import { compile, parse, postprocess, preprocess } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import { withoutHalves } from '../../protocol/graphemes.ts'
import { noLabels, notesIn, splitAtCalls, startOfNote } from './footnotes.ts'
import { groupsOf, readCode, readHtml, writeHtml } from './html.ts'
import { type Reading, withoutReturns } from './line-reader.ts'
import { type InlineNode, inlineNodes, type Line, type ListPart, type TextRun, textOf } from './rich-text.ts'

/** Embedded HTML is read like any other. Front matter becomes a code block at the start. */
export function readMarkdown(text: string): Reading {
  // CommonMark reads a NUL as U+FFFD (0.31, 2.3); HTML drops it.
  const source = withoutReturns(withoutHalves(text)).replaceAll('\0', '')
  const { frontMatter, content } = splitFrontMatter(source)
  const parser = parse({ extensions: [gfm({ singleTilde: false })] })
  boundNesting(parser.constructs)
  const toHtml = compile({
    allowDangerousHtml: true,
    // Addresses are checked when they are read.
    allowDangerousProtocol: true,
    htmlExtensions: htmlExtensions(),
  })
  const { lines, unkept } = readHtml(
    toHtml(postprocess(parser.document().write(preprocess()(content, 'utf8', true)))),
  )
  if (frontMatter === null) return { lines, unkept }
  const code = readCode(frontMatter).map((line) => ({ ...line, language: 'yaml' }))
  return { lines: [...code, ...lines], unkept: ['front matter, which is code now', ...unkept] }
}

type HtmlExtension = ReturnType<typeof gfmHtml>
type Constructs = ReturnType<typeof parse>['constructs']
type Construct = Exclude<NonNullable<Constructs['text'][number]>, readonly unknown[]>
type Context = ThisParameterType<Construct['tokenize']>

/**
 * Maximum column at which quotes and lists begin, and number of open brackets or marks in a paragraph:
 * the time to read grows with the square of the depth. Anything deeper is plain text.
 */
const deepest = 100

/** Characters by their codes: `*`, `_`, `~`; `!`, `[`, `]`. */
const markCodes = [42, 95, 126]
const startCodes = [33, 91]
const endCode = 93

function boundNesting({ document, text }: Constructs): void {
  // Each level has a column of its own in every line.
  bound(document, Object.keys(document), { mayBegin: (context) => context.now().column <= deepest })

  const brackets = new WeakMap<Context, number>()
  const openIn = (context: Context) => brackets.get(context) ?? 0
  bound(text, startCodes, {
    mayBegin: (context) => openIn(context) < deepest,
    onEnd(context, { type }) {
      if (type === 'labelLink' || type === 'labelImage') brackets.set(context, openIn(context) + 1)
    },
  })
  bound(text, [endCode], {
    mayBegin(context) {
      const open = openIn(context)
      brackets.set(context, Math.max(0, open - 1))
      return open > 0
    },
  })

  for (const code of markCodes) {
    /** Signs that begin marks, minus those that end them. */
    const marks = new WeakMap<Context, number>()
    /** Paragraphs with signs that may do either, which are not counted. */
    const ambiguous = new WeakSet<Context>()
    bound(text, [code], {
      onEnd(context, token) {
        const { _open = false, _close = false, start, end } = token
        const open = marks.get(context) ?? 0
        const length = end.offset - start.offset
        if (_open && _close) ambiguous.add(context)
        else if (_open && open >= deepest) token._open = false
        else if (_open) marks.set(context, open + length)
        else if (_close && open <= -deepest && !ambiguous.has(context)) token._close = false
        else if (_close) marks.set(context, open - length)
      },
    })
  }
}

interface Bound {
  readonly mayBegin?: (context: Context) => boolean
  /** Called with the last token of each match. */
  readonly onEnd?: (context: Context, token: Context['events'][number][1]) => void
}

/** Bounds the constructs that begin with these characters. */
function bound(
  record: Constructs['text'],
  codes: readonly (number | string)[],
  { mayBegin, onEnd }: Bound,
): void {
  for (const code of codes)
    record[code as number] = [record[code as number] ?? []].flat().map((construct) => ({
      ...construct,
      tokenize(effects, ok, nok) {
        if (mayBegin?.(this) === false) return nok
        return construct.tokenize.call(
          this,
          effects,
          (next) => {
            const [, token] = this.events.at(-1) ?? []
            if (token) onEnd?.(this, token)
            return ok(next)
          },
          nok,
        )
      },
    }))
}

type Handle = NonNullable<NonNullable<HtmlExtension['exit']>['paragraph']>

/** Maximum number of empty cells added to a short row: a wide table would have thousands. */
const maxCells = 20

/** State that GitHub's extension keeps for the table it is writing. */
interface TableData {
  getData(name: 'tableAlign'): readonly unknown[]
  getData(name: 'tableColumn'): number
  setData(name: 'tableColumn', value: number): void
}

/** GitHub's extensions, whose tables add at most these cells. */
function htmlExtensions(): HtmlExtension[] {
  const all = gfmHtml()
  const { tableRow }: Record<string, Handle> = { ...all.exit }
  const exit: Record<string, Handle> = {
    tableRow(token) {
      const data = this as unknown as TableData
      const columns = data.getData('tableAlign').length
      data.setData('tableColumn', Math.max(data.getData('tableColumn'), columns - maxCells))
      tableRow?.call(this, token)
    },
  }
  return [all, { exit }]
}

/** Splits off YAML between two lines of three hyphens, as static site generators write it. */
function splitFrontMatter(text: string): { frontMatter: string | null; content: string } {
  if (!text.startsWith('---\n')) return { frontMatter: null, content: text }
  const end = text.indexOf('\n---\n', 3)
  if (end < 0) return { frontMatter: null, content: text }
  const frontMatter = text.slice(4, end)
  // After a blank line, the hyphens are a rule.
  return /^\s*(?:\n|$)/.test(frontMatter)
    ? { frontMatter: null, content: text }
    : { frontMatter, content: text.slice(end + 5) }
}

/** Labels of the footnotes that a line may call. */
type Callable = (line: Line) => ReadonlySet<string>

export function writeMarkdown(lines: readonly Line[]): string {
  const children: RootContent[] = []
  const { labelOf, callableIn } = notesIn(lines)
  for (const group of groupsOf(lines)) {
    if ('items' in group) {
      children.push(listNode(group, callableIn))
      continue
    }
    const { first, members } = group
    const { block, language, align } = first
    const label = labelOf(first)
    if (label !== null) children.push(noteNode(first, label))
    else if (block === 'pre') children.push({ type: 'code', lang: language ?? null, value: textOf(members) })
    else if (block === 'blockquote') {
      const paragraphs = members.flatMap((line) => paragraphNode(line.runs, callableIn(line)))
      if (paragraphs.length > 0) children.push({ type: 'blockquote', children: paragraphs })
    } else if (align !== null) children.push({ type: 'html', value: alignedHtml(first, align) })
    else if (block === 'p') children.push(...paragraphNode(first.runs, callableIn(first)))
    else {
      const depth = Number(block.slice(1)) as 1 | 2 | 3 | 4 | 5 | 6
      const content = phrasing(first.runs, callableIn(first))
      children.push({ type: 'heading', depth, children: content.map(withoutBreaks) })
    }
  }
  return toMarkdown(
    { type: 'root', children },
    { extensions: [gfmToMarkdown()], bullet: '-', emphasis: '*', rule: '-', listItemIndent: 'one' },
  )
}

/** Markdown has no alignment; GitHub keeps this attribute. */
function alignedHtml(line: Line, align: string): string {
  const runs = line.runs.map(({ text, marks }) => ({ text: keepSpaces(text), marks }))
  return writeHtml([{ ...line, runs }]).replace(` style="text-align: ${align}"`, ` align="${align}"`)
}

/** Empty paragraphs do not exist in Markdown. */
function paragraphNode(
  runs: readonly TextRun[],
  labels: ReadonlySet<string>,
): { type: 'paragraph'; children: PhrasingContent[] }[] {
  const children = phrasing(runs, labels)
  return children.length === 0 ? [] : [{ type: 'paragraph', children }]
}

function noteNode({ runs }: Line, label: string): RootContent {
  const skipped = startOfNote(label).length
  const rest = runs.map(({ text, marks }, index) => ({ text: text.slice(index === 0 ? skipped : 0), marks }))
  return { type: 'footnoteDefinition', identifier: label, label, children: paragraphNode(rest, noLabels) }
}

function listNode({ kind, start, items }: ListPart, callableIn: Callable): ListNode {
  const children = items.map(
    ({ line, lists }): ListItem => ({
      type: 'listItem',
      spread: false,
      children: [
        ...paragraphNode(line.runs, callableIn(line)),
        ...lists.map((list) => listNode(list, callableIn)),
      ],
    }),
  )
  return { type: 'list', ordered: kind === 'ol', start, spread: false, children }
}

function phrasing(runs: readonly TextRun[], labels: ReadonlySet<string>): PhrasingContent[] {
  return inlineNodes(runs).flatMap((node) => phrasingOf(node, labels))
}

const tagsOfNodes = { b: 'strong', i: 'emphasis', s: 'delete' } as const

function phrasingOf(node: InlineNode, labels: ReadonlySet<string>): PhrasingContent[] {
  if ('text' in node)
    return splitAtCalls(node.text, labels).flatMap((part, index): PhrasingContent[] =>
      index % 2 === 1
        ? [{ type: 'footnoteReference', identifier: part, label: part }]
        : textNode('text', part),
    )
  if ('lineBreak' in node) return [{ type: 'break' }]
  if ('image' in node) {
    const { src, alt } = node.image
    return src === ''
      ? textNode('text', `[${alt}]`)
      : [{ type: 'image', url: src, alt: withoutControls(alt) }]
  }
  const { tag } = node
  if (tag === 'code')
    return node.children.flatMap((child) =>
      'text' in child ? textNode('inlineCode', child.text) : phrasingOf(child, noLabels),
    )
  const callable = tag === 'a' ? noLabels : labels
  const children = node.children.flatMap((child) => phrasingOf(child, callable))
  const type = tagsOfNodes[tag as keyof typeof tagsOfNodes]
  if (tag !== 'a' && !type)
    return [{ type: 'html', value: `<${tag}>` }, ...children, { type: 'html', value: `</${tag}>` }]
  // A break at either end would turn the surrounding marks into plain characters.
  const start = children.findIndex((child) => child.type !== 'break')
  if (start < 0) return children
  const end = children.findLastIndex((child) => child.type !== 'break') + 1
  const inner = children.slice(start, end)
  const marked: PhrasingContent =
    type === undefined ? { type: 'link', url: node.href ?? '', children: inner } : { type, children: inner }
  return [...children.slice(0, start), marked, ...children.slice(end)]
}

function textNode(type: 'text' | 'inlineCode', text: string): PhrasingContent[] {
  const value = keepSpaces(withoutControls(text))
  return value === '' ? [] : [{ type, value }]
}

/** For a heading, which is a single line. */
function withoutBreaks(node: PhrasingContent): PhrasingContent {
  if (node.type === 'break') return { type: 'html', value: '<br>' }
  return 'children' in node ? { ...node, children: node.children.map(withoutBreaks) } : node
}

/** As character references they would be read as U+FFFD (CommonMark 0.31, 6.2). */
const withoutControls = (text: string) => text.replaceAll(/[^\P{Cc}\t]|\p{Noncharacter_Code_Point}/gu, '')

/** Protects multiple spaces, which Markdown would collapse. */
const keepSpaces = (text: string) =>
  text.replaceAll(/ {2,}/g, (spaces) => `${'\u00A0'.repeat(spaces.length - 1)} `)
