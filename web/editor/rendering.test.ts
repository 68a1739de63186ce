// Drawing step by step gives the same result as drawing at once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import { type Change, changeLines, isEnded, type Line, lengthOf } from '../../app/document/rich-text.ts'
import { createSeededRandom } from '../../protocol/time.ts'

const rounds = Number(process.env.CROSSWIND_ROUNDS ?? 8)
const firstSeed = Number(process.env.CROSSWIND_SEED ?? 1)

const { window } = new JSDOM('<div></div>')
const { document } = window
const names = [
  'Node',
  'Text',
  'Element',
  'HTMLElement',
  'HTMLAnchorElement',
  'HTMLBRElement',
  'HTMLImageElement',
] as const
for (const name of [...names, 'HTMLLIElement', 'HTMLOListElement', 'HTMLUListElement'] as const)
  Object.assign(globalThis, { [name]: window[name] })
Object.assign(globalThis, { document })
// No layout in jsdom.
window.Range.prototype.getClientRects = () => [{}] as unknown as DOMRectList
const { Rendering } = await import('./rendering.ts')
const { Layout } = await import('./layout.ts')

const draw = (lines: readonly Line[]) => {
  const rendering = new Rendering(document.createElement('div'))
  rendering.redraw(lines)
  return rendering
}

function htmlOf({ root }: InstanceType<typeof Rendering>): string {
  const copy = root.cloneNode(true) as HTMLElement
  copy.normalize()
  return copy.innerHTML.replaceAll(' dir="auto"', '')
}

test("a position in a list, or after an item's nested lists, is where the next line begins", () => {
  const format = (block: string) => ({ insert: '\n', attributes: { block } })
  const rendering = draw(
    changeLines(
      [],
      [{ insert: 'a' }, format('ul1'), { insert: 'b' }, format('ul2'), { insert: 'c' }, format('ul1')],
    ),
  )
  const item = rendering.root.querySelector('li') as HTMLElement
  assert.deepEqual(
    [0, 1, 2].map((offset) => rendering.indexOf(item, offset)),
    [0, 1, 4],
  )
  const [list, nested] = rendering.root.querySelectorAll('ul')
  assert.ok(list && nested)
  for (const [node, indices] of [
    [list, [0, 4, 5]],
    [nested, [2, 4]],
  ] as const)
    assert.deepEqual(
      indices.map((_, offset) => rendering.indexOf(node, offset)),
      indices,
    )
})

test('a caret within a break or an image is before it', () => {
  const image = { src: '', alt: 'cat' }
  const inserted = [{ insert: 'a\u2028b' }, { insert: '\uFFFC', attributes: { image } }, { insert: '\n' }]
  const rendering = draw(changeLines([], inserted))
  const points = ['br', '[data-image]'].map((selector) => {
    const node = rendering.root.querySelector(selector)
    assert.ok(node)
    return [node.firstChild ?? node, 0] as const
  })
  assert.deepEqual(
    points.map(([node, offset]) => rendering.indexOf(node, offset)),
    [1, 3],
  )
  assert.deepEqual(rendering.read([rendering.root.firstElementChild as Node], points).indices, [1, 3])
})

test('a caret after an unpaired surrogate, which is not read, is after the preceding text', () => {
  const rendering = draw(changeLines([], [{ insert: 'abc\n' }]))
  const text = new window.Text('a\ud83db\ud83d')
  const rest = new window.Text('\ude00c')
  rendering.root.firstElementChild?.replaceChildren(text, rest)
  const points = [1, 2, 3, 4].map((offset) => [text, offset] as const)
  const { lines, indices } = rendering.read([text, rest], [...points, [rest, 1], [rest, 2]])
  assert.equal(lines[0]?.runs.map((run) => run.text).join(''), 'ab😀c')
  assert.deepEqual(indices, [1, 1, 2, 3, 4, 5])
})

test('lines stay in order if the first is removed and another is added below in one drawing', () => {
  const lines = changeLines([], [{ insert: 'first\nsecond\n' }])
  const rendering = draw(lines)
  rendering.show(changeLines(changeLines(lines, [{ retain: 13 }, { insert: 'new\n' }]), [{ delete: 6 }]))
  assert.equal(htmlOf(rendering), '<p>second</p><p>new</p>')
})

/**
 * Counts the steps of this work in the DOM and over the lines. To compare two nodes, a browser walks
 * over their siblings.
 */
function stepsOf(work: (count: () => void) => void): number {
  let steps = 0
  const count = (more = 1) => {
    steps += more
  }
  const { prototype } = window.Node
  const restores = [
    ...['firstChild', 'nextSibling', 'parentNode', 'childNodes'].map((name) => [prototype, name] as const),
    [window.Element.prototype, 'localName'] as const,
    [window.CharacterData.prototype, 'data'] as const,
  ].map(([owner, name]) => {
    const known = Object.getOwnPropertyDescriptor(owner, name) as PropertyDescriptor
    Object.defineProperty(owner, name, {
      ...known,
      get() {
        count()
        return known.get?.call(this)
      },
    })
    return () => Object.defineProperty(owner, name, known)
  })
  const { compareDocumentPosition } = prototype
  prototype.compareDocumentPosition = function (other) {
    count(this.parentNode?.childNodes.length)
    return compareDocumentPosition.call(this, other)
  }
  try {
    work(count)
  } finally {
    prototype.compareDocumentPosition = compareDocumentPosition
    for (const restore of restores) restore()
  }
  return steps
}

/** Counts each line that is looked at. */
const countedLines = (lines: readonly Line[], count: () => void) =>
  new Proxy(lines, {
    get(target, name) {
      if (typeof name === 'string' && /^\d+$/.test(name)) count()
      return Reflect.get(target, name)
    },
  })

const plainLines = (count: number) =>
  changeLines([], [{ insert: Array.from({ length: count }, (_none, n) => `line ${n}\n`).join('') }])

/** A paragraph of so many bold words and as many links. */
const marked = (count: number) =>
  changeLines(
    [],
    [
      ...Array.from({ length: count }, (_none, n): Change[] => [
        { insert: `bold${n}`, attributes: { bold: true } },
        { insert: ' ' },
        { insert: `link${n}`, attributes: { link: `https://example.org/${n}` } },
        { insert: ' ' },
      ]).flat(),
      { insert: '\n' },
    ],
  )

/** A key in the middle: the selection is read, the text drawn, and the selection set. */
function typeInMiddle(count: number): number {
  const lines = marked(count)
  const rendering = draw(lines)
  const middle = Math.floor(lengthOf(lines[0] as Line) / 2)
  return stepsOf(() => {
    assert.equal(rendering.indexOf(...rendering.positionOf(middle)), middle)
    rendering.show(changeLines(lines, [{ retain: middle }, { insert: 'x' }]))
    assert.equal(rendering.indexOf(...rendering.positionOf(middle + 1)), middle + 1)
    const [host] = rendering.root.children
    assert.ok(host)
    // As after End, and after a triple click.
    assert.ok((rendering.indexOf(host, host.childNodes.length) ?? 0) > middle)
    assert.ok((rendering.indexOf(host, count) ?? 0) > 0)
  })
}

/** Places between the lines, as after "select all". */
function findBetween(count: number): number {
  const lines = plainLines(count)
  const rendering = draw(lines)
  return stepsOf(() => {
    assert.equal(rendering.indexOf(rendering.root, 0), 0)
    const index = rendering.indexOf(rendering.root, count - 1)
    assert.ok(index !== null && index > count)
  })
}

function makeHeadings(count: number): number {
  const lines = plainLines(count)
  const rendering = draw(lines)
  const block = { attributes: { block: 'h1' } }
  const headings = changeLines(lines, [
    { retain: lines.reduce((sum, line) => sum + lengthOf(line) + 1, 0), ...block },
  ])
  return stepsOf(() => rendering.show(headings))
}

function selectAll(count: number): number {
  const lines = plainLines(count)
  const rendering = draw(lines)
  const layout = new Layout(rendering)
  const end = lines.reduce((sum, line) => sum + lengthOf(line) + 1, 0)
  return stepsOf((step) => {
    rendering.show(countedLines(lines, step))
    assert.equal(layout.rectsOf(0, end).length, count)
    assert.equal(layout.rectsOf(0, end, 3).length, 3)
  })
}

const work: readonly (readonly [what: string, stepsFor: (count: number) => number])[] = [
  ['a key in a paragraph of many marks', typeInMiddle],
  ['a place between many lines', findBetween],
  ['headings of many paragraphs', makeHeadings],
  ['the rectangles of a selection of many lines', selectAll],
]

for (const [what, stepsFor] of work)
  test(`${what}: with twice as many, twice as many steps`, () => {
    const steps = stepsFor(200)
    const stepsOfTwice = stepsFor(400)
    assert.ok(stepsOfTwice <= 2.1 * steps, `${steps} and ${stepsOfTwice} steps`)
  })

test('random changes, one to four drawn together', () => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed += 1) {
    const random = createSeededRandom(seed)
    const below = (most: number) => Math.floor(random() * most)
    const pick = <Value>(from: readonly Value[]) => from[below(from.length)] as Value
    const change = (lines: readonly Line[]): Change[] => {
      const lengths = lines.map((line) => lengthOf(line) + (isEnded(line) ? 1 : 0))
      const length = lengths.reduce((sum, one) => sum + one, 0)
      const place = below(lines.length)
      const start = lengths.slice(0, place).reduce((sum, one) => sum + one, 0)
      // Removes whole lines, whose places others then take.
      if (random() < 0.3) return [{ retain: start }, { insert: 'new\n' }]
      if (random() < 0.3 && lines.length > 2) return [{ retain: start }, { delete: lengths[place] ?? 0 }]
      const at = below(length)
      const rest = Math.max(1, Math.min(below(9), length - 1 - at))
      const kind = random()
      const text = pick(['a', 'word', '\n', 'x\ny\n', '\n\n', '\u2028'])
      const block = pick([undefined, 'h1', 'ul1', 'ul2', 'ol1', 'pre'])
      const attributes = { ...(block && { block }), ...(random() < 0.3 && { bold: true }) }
      if (kind < 0.45) return [{ retain: at }, { insert: text, attributes }]
      if (kind < 0.75) return [{ retain: at }, { delete: rest }]
      return [
        { retain: at },
        { retain: rest, attributes: { block: block ?? null, bold: random() < 0.5 || null } },
      ]
    }
    let lines = changeLines([], [{ insert: 'one\ntwo\nthree\nfour\n' }])
    const rendering = draw(lines)
    for (let step = 0; step < 60; step += 1) {
      for (let count = 1 + below(4); count > 0; count -= 1) lines = changeLines(lines, change(lines))
      rendering.show(lines)
      assert.equal(htmlOf(rendering), htmlOf(draw(lines)), `seed ${seed}, step ${step}`)
    }
  }
})
