// Edits compared with a plain model of lines, without a browser.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeLines, depthsOf, type Line, type Marks } from '../../app/document/rich-text.ts'
import {
  deleteText,
  type Edit,
  expandShorthand,
  inBatches,
  indent,
  insertLines,
  linesWithin,
  linkAround,
  linkTyped,
  splitLine,
  toggleBlock,
  transpose,
} from './edits.ts'

/** `ul2 text` is a line of that block; `p text` a paragraph. */
function written(...lines: readonly string[]): Line[] {
  const changes = lines.flatMap((line) => {
    const [block = 'p', text = ''] = line.split(/ (.*)/)
    return [{ insert: text }, { insert: '\n', attributes: block === 'p' ? {} : { block } }]
  })
  return changeLines([], changes)
}

const shown = (lines: readonly Line[]) => {
  const depths = depthsOf(lines)
  return lines.map(
    ({ block, runs }, place) =>
      `${depths[place] ? block.slice(0, 2) + depths[place] : block} ${runs.map(({ text }) => text).join('')}`,
  )
}

const after = (lines: readonly Line[], edit: Edit | null) =>
  shown(edit ? changeLines(lines, edit.changes) : lines)

const caret = (index: number) => ({ anchor: index, head: index })

const list = ['ul1 a', 'ul2 b', 'ul2 c', 'ul1 d']

for (const [name, edit] of [
  ['Backspace', (lines: Line[]) => deleteText(lines, caret(0), null, 'deleteContentBackward')],
  ['Shift+Tab', (lines: Line[]) => indent(lines, caret(0), -1)],
] as const)
  test(`siblings stay siblings when the item above them leaves the list by ${name}`, () => {
    const lines = written(...list)
    assert.deepEqual(after(lines, edit(lines)), ['p a', 'ul1 b', 'ul1 c', 'ul1 d'])
  })

test('siblings stay siblings when the item above them becomes a heading, or is deleted with the line above', () => {
  const lines = written(...list)
  assert.deepEqual(after(lines, toggleBlock(lines, caret(0), 'h1')), ['h1 a', 'ul1 b', 'ul1 c', 'ul1 d'])
  const more = written('p x', ...list)
  const range = { anchor: 1, head: 3 }
  assert.deepEqual(after(more, deleteText(more, range, null, 'deleteContentBackward')), [
    'p x',
    'ul1 b',
    'ul1 c',
    'ul1 d',
  ])
})

test('Tab nests one of two siblings whose parent has left', () => {
  const lines = changeLines(written(...list), indent(written(...list), caret(0), -1).changes)
  assert.deepEqual(after(lines, indent(lines, caret(4), 1)), ['p a', 'ul1 b', 'ul2 c', 'ul1 d'])
})

test('target ranges are respected: words before the caret, a correction elsewhere', () => {
  const lines = written('p one two')
  const target = { from: 3, to: 7 }
  assert.deepEqual(after(lines, deleteText(lines, caret(7), target, 'deleteContentBackward')), ['p one'])
})

test('transpose exchanges the whole characters beside the caret', () => {
  for (const [text, at, expected] of [
    ['abcd', 2, 'acbd'],
    ['abcd', 4, 'abdc'],
    ['a👩‍👩‍👧b', 1, '👩‍👩‍👧ab'],
    ['a', 1, 'a'],
  ] as const) {
    const lines = written(`p ${text}`)
    assert.deepEqual(after(lines, transpose(lines, at)), [`p ${expected}`])
  }
})

for (const [sign, block] of [
  ['# ', 'h1'],
  ['### ', 'h3'],
  ['- ', 'ul1'],
  ['* ', 'ul1'],
  ['1. ', 'ol1'],
  ['> ', 'blockquote'],
  ['```', 'pre'],
] as const)
  test(`“${sign}” at the beginning of a line makes it ${block}`, () => {
    const lines = written(`p ${sign}`)
    assert.deepEqual(after(lines, expandShorthand(lines, sign.length)), [`${block} `])
  })

test('prefixes elsewhere, and in other blocks, are text', () => {
  for (const [line, at] of [
    ['p a # ', 4],
    ['h1 # ', 2],
    ['p ####### ', 8],
    ['p ```js', 3],
  ] as const)
    assert.equal(expandShorthand(written(line), at), null)
})

/** Runs after the shorthand typed last: `text` or `[text]{marks}`. */
function expanded(line: string): string | null {
  const lines = written(line)
  const edit = expandShorthand(lines, line.replace(/^\S+ /, '').length)
  if (!edit) return null
  const [changed] = changeLines(lines, edit.changes)
  return (changed?.runs ?? [])
    .map(({ text, marks }) => {
      const names = Object.entries(marks).map(([name, value]) => (value === true ? name : value))
      return names.length > 0 ? `[${text}]{${names}}` : text
    })
    .join('')
}

test('text between signs of Markdown gets their mark', () => {
  for (const [typed, expected] of [
    ['a **b c**', 'a [b c]{bold}'],
    ['a *b*', 'a [b]{italic}'],
    ['(_b_', '([b]{italic}'],
    ['~~b~~', '[b]{strike}'],
    ['x `a*b`', 'x [a*b]{code}'],
    ['ü **é**', 'ü [é]{bold}'],
  ])
    assert.equal(expanded(`p ${typed}`), expected)
  assert.equal(expanded('h2 a *b*'), 'a [b]{italic}')
})

test('signs that are text stay text', () => {
  for (const typed of [
    '2*3*',
    'snake_case_',
    '* a *',
    '** b **',
    '**',
    '****',
    '***',
    '**a*',
    '__a__',
    '**a\u2028b**',
    'a*',
    '``',
    'https://example.org/_next_',
  ])
    assert.equal(expanded(`p ${typed}`), null, typed)
  assert.equal(expanded('pre **a**'), null)
})

test('signs within code are text, and what follows a mark is plain', () => {
  const inCode = changeLines([], [{ insert: '*a*', attributes: { code: true } }, { insert: '\n' }])
  assert.equal(expandShorthand(inCode, 3), null)
  const edit = expandShorthand(written('p **a**'), 5)
  assert.deepEqual([edit?.selected.head, edit?.nextMarks], [1, {}])
})

test('an address becomes a link once a space follows it', () => {
  for (const [typed, expected] of [
    ['see https://example.org/a ', 'see [https://example.org/a]{https://example.org/a} '],
    ['(www.example.org). ', '([www.example.org]{https://www.example.org}). '],
    ['https://example.org/a_(b) ', '[https://example.org/a_(b)]{https://example.org/a_(b)} '],
    ['“https://example.org/_a_” ', '“[https://example.org/_a_]{https://example.org/_a_}” '],
    ['http://localhost:8443 ', '[http://localhost:8443]{http://localhost:8443} '],
  ])
    assert.equal(expanded(`p ${typed}`), expected)
  for (const typed of ['https:// ', 'www. ', 'javascript:alert(1) ', 'example.org ', 'https://example.org'])
    assert.equal(expanded(`p ${typed}`), null, typed)
  assert.equal(expanded('pre https://example.org '), null)
  const link = { link: 'https://example.org/' }
  const linked = changeLines([], [{ insert: 'https://example.org', attributes: link }, { insert: ' \n' }])
  assert.equal(expandShorthand(linked, 20), null)
  assert.deepEqual(linkTyped(written('p www.example.org'), 15)?.selected, caret(15))
})

test('a number at the beginning of a line is where the list starts', () => {
  const lines = written('p 7. ')
  const edit = expandShorthand(lines, 3)
  const [line] = changeLines(lines, edit?.changes ?? [])
  assert.deepEqual([line?.block, line?.start], ['ol1', 7])
  const next = changeLines(changeLines(lines, edit?.changes ?? []), [{ insert: 'x' }])
  const split = changeLines(next, splitLine(next, { from: 1, to: 1 }).changes)
  assert.deepEqual(
    split.map(({ start }) => start),
    [7, undefined],
  )
})

test('lines copied and inserted again are unchanged', () => {
  const lines = written('h2 Head', 'ul1 a', 'ul2 b', 'pre x', 'pre ', 'pre y', 'p end')
  const all = { from: 0, to: 22 }
  const copied = linesWithin(lines, all)
  const edit = insertLines(lines, all, copied)
  assert.deepEqual(after(lines, edit), shown(lines))
  assert.deepEqual(after(written('p '), insertLines(written('p '), { from: 0, to: 0 }, copied)), shown(lines))
})

test('a heading and a list inserted within a paragraph keep their format', () => {
  const lines = written('p before after')
  const inserted = written('h2 Head', 'ul1 a')
  assert.deepEqual(after(lines, insertLines(lines, { from: 7, to: 7 }, inserted)), [
    'p before ',
    'h2 Head',
    'ul1 a',
    'p after',
  ])
  const words = written('p one', 'p two')
  assert.deepEqual(after(lines, insertLines(lines, { from: 7, to: 7 }, words)), [
    'p before one',
    'p twoafter',
  ])
})

test('words inserted into an empty line get its format, and a heading brings its own', () => {
  const [word] = linesWithin(written('p a word'), { from: 2, to: 6 })
  const heading = written('h2 Head')
  assert.ok(word)
  for (const block of ['p', 'h1', 'blockquote', 'ul2', 'ol1']) {
    const [line] = changeLines(
      [],
      [{ insert: '\n', attributes: { ...(block !== 'p' && { block }), align: 'center' } }],
    )
    assert.ok(line)
    const into = (inserted: Line) =>
      changeLines([line], insertLines([line], { from: 0, to: 0 }, [inserted])?.changes ?? [])
    assert.deepEqual(
      into(word).map(({ block, align }) => [block, align]),
      [[block, 'center']],
    )
    assert.deepEqual(
      into({ ...word, align: 'right' }).map(({ block, align }) => [block, align]),
      [[block, 'right']],
    )
    assert.deepEqual(shown(heading.flatMap(into)), ['h2 Head'])
  }
})

test('long changes are cut between characters', () => {
  const marks: Marks = { bold: true }
  const family = '👩‍👩‍👧‍👦'
  const batches = inBatches(
    [{ retain: 1 }, { insert: `a${family.repeat(3000)}`, attributes: { ...marks } }],
    16_000,
  )
  const pieces = batches.flat().flatMap((change) => ('insert' in change ? [change.insert] : []))
  assert.equal(pieces.join(''), `a${family.repeat(3000)}`)
  assert.ok(pieces.length > 1)
  for (const piece of pieces) assert.match(piece, /^a?(?:👩‍👩‍👧‍👦)+$/u)
  let lines = written('p xy')
  for (const batch of batches) lines = changeLines(lines, batch)
  assert.equal(lines[0]?.runs.map(({ text }) => text).join(''), `xa${family.repeat(3000)}y`)
})

const linked = (...runs: readonly (readonly [text: string, link?: string])[]): Line => ({
  block: 'p',
  align: null,
  runs: runs.map(([text, link], n) => ({
    text,
    marks: { ...(link && { link }), ...(n % 2 > 0 && { bold: true as const }) },
  })),
})

test('the whole link around a caret, or the one that ends there', () => {
  const line = linked(['aa'], ['bb', '/one'], ['cc', '/one'], ['dd', '/two'], ['ee'])
  const one = { from: 2, to: 6 }
  const two = { from: 6, to: 8 }
  assert.deepEqual(
    Array.from({ length: 11 }, (_none, index) => linkAround([line], index)),
    [null, null, one, one, one, one, two, two, two, null, null],
  )
})

test('a link of twice as many runs is found in twice as many steps', () => {
  const stepsFor = (count: number) => {
    let steps = 0
    const { runs, ...format } = linked(
      ...Array.from({ length: count }, () => ['some words', '/one'] as const),
    )
    const counted = new Proxy(runs, {
      get(target, name) {
        steps += 1
        return Reflect.get(target, name)
      },
    })
    assert.deepEqual(linkAround([{ ...format, runs: counted }], 5 * count), { from: 0, to: 10 * count })
    return steps
  }
  const steps = stepsFor(50)
  const stepsOfTwice = stepsFor(100)
  assert.ok(stepsOfTwice <= 2.1 * steps, `${steps} and ${stepsOfTwice} steps`)
})
