// Drawing step by step gives the same result as drawing at once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSDOM } from 'jsdom'
import { type Change, changeLines, isEnded, type Line, lengthOf } from '../../server/document/rich-text.ts'
import { createSeededRandom } from '../../server/wire/time.ts'

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
const { Rendering } = await import('./rendering.ts')

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
