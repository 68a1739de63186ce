// Whatever changes the editor's DOM, the document is what a person saw right after the change, caret included.
// CROSSWIND_FUZZ_ROUNDS=2000 and CROSSWIND_FUZZ_SEED=n make it longer, or repeat a sequence that failed.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createSeededRandom } from '../../server/wire/time.ts'
import { type BrowserName, until } from '../browser/browser.ts'
import type { UnaskedChange } from './binding-page.ts'
import { type BindingStage, openBindingStage } from './binding-stage.ts'
import type { SeenLine } from './dom-oracle.ts'

const name = (process.env.CROSSWIND_BROWSER ?? 'chromium') as BrowserName
const sequences = Number(process.env.CROSSWIND_FUZZ_ROUNDS ?? 100)
const firstSeed = Number(process.env.CROSSWIND_FUZZ_SEED ?? 1)
const steps = 8

let stage: BindingStage
before(async () => {
  stage = await openBindingStage(name)
})
after(() => stage.close())

const page =
  '<h1>Head <i>line</i></h1><p>intro <b>bold</b> text</p><ul><li>one <a href="https://example.org/a">link</a><ul><li>two</li><li>three</li></ul></li><li>four</li></ul>' +
  '<blockquote>quote</blockquote><pre>let a</pre><pre>  b</pre><ol><li>first</li><li>second <code>x</code></li></ol><p>end</p>'

const commands: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['insertText', ['x', 'Kind\nJo', '😀', ' ', 'e\u0301']],
  ['insertHTML', ['<b>B</b>i', '<h2>H</h2><p>p</p>', '<ul><li>L</li></ul>', 'a<br>b', '<div>d</div>e']],
  ['insertParagraph', ['']],
  ['insertLineBreak', ['']],
  ['delete', ['']],
  ['forwardDelete', ['']],
  ['bold', ['']],
  ['italic', ['']],
  ['strikeThrough', ['']],
  ['subscript', ['']],
  ['removeFormat', ['']],
  ['formatBlock', ['h2', 'p', 'blockquote', 'pre']],
  ['insertUnorderedList', ['']],
  ['insertOrderedList', ['']],
  ['justifyCenter', ['']],
  ['createLink', ['https://example.org/b']],
  ['unlink', ['']],
]

const elsewhere: readonly (readonly [
  kind: Exclude<UnaskedChange['kind'], 'command'>,
  values: readonly string[],
])[] = [
  ['replace', ['word', '', '👩‍👩‍👧', 'שלום', 'a\u0301']],
  ['wrap', ['font', 'span', 'b', 'a', 'em']],
  ['split', ['']],
  ['block', ['new block']],
  ['loose', ['loose text', '😀']],
  ['remove', ['']],
  ['move', ['']],
  ['copy', ['']],
  ['nest', ['nested']],
]

/** Calls a door of the page. */
function call(action: string, ...args: unknown[]): Promise<unknown> {
  return stage.run(
    (action, args) => {
      const { door } = globalThis as typeof globalThis & {
        door: Record<string, (...args: unknown[]) => unknown>
      }
      return door[action]?.(...args) as never
    },
    action,
    args,
  )
}

const within = (index: number, action: string, ...args: unknown[]) => call('in', index, action, ...args)

class Sequence {
  readonly #random: () => number
  readonly steps: string[] = []

  constructor(seed: number) {
    this.#random = createSeededRandom(seed)
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)] as Item
  }

  async open(): Promise<void> {
    await call('open', 2, 'x')
    await within(0, 'select', 0, 1)
    await within(0, 'insertHtml', page)
    await this.check()
  }

  async step(): Promise<void> {
    const length = ((await within(0, 'text')) as string).length
    const anchor = Math.floor(this.#random() * length)
    const head = this.#random() < 0.6 ? anchor : Math.floor(this.#random() * length)
    await within(0, 'select', anchor, head)
    const change = this.#change()
    this.steps.push(`${anchor} to ${head}: ${JSON.stringify(change)}`)
    const difference = await within(0, 'changeUnasked', change)
    if (difference !== null) throw new Error(`${difference}\n${stage.errors().join('\n')}`)
    await this.check()
  }

  #change(): UnaskedChange {
    if (this.#random() < 0.5) {
      const [name, values] = this.#pick(commands)
      return { kind: 'command', name, value: this.#pick(values) }
    }
    const [kind, values] = this.#pick(elsewhere)
    return { kind, at: this.#random(), to: this.#random(), value: this.#pick(values) }
  }

  /** The DOM is the drawing of the document, and the second window shows the same. */
  async check(): Promise<void> {
    assert.equal(await call('fault'), null)
    assert.deepEqual(await within(1, 'seenInDocument'), await within(0, 'seenInDocument'))
    assert.deepEqual(stage.errors(), [])
  }
}

test(`${sequences} sequences of changes that nobody announced, from seed ${firstSeed}`, async () => {
  for (let seed = firstSeed; seed < firstSeed + sequences; seed += 1) {
    const sequence = new Sequence(seed)
    try {
      await sequence.open()
      for (let step = 0; step < steps; step += 1) await sequence.step()
    } catch (error) {
      const steps = sequence.steps.join('\n')
      throw new Error(`CROSSWIND_FUZZ_SEED=${seed} fails after\n${steps}\n${error}`, { cause: error })
    }
  }
})

/** A line as units of text with their looks. */
interface ModelLine {
  readonly block: string
  readonly align: string
  readonly units: (readonly [unit: string, look: string])[]
}

async function model(): Promise<ModelLine[]> {
  const lines = (await within(0, 'seenInDocument')) as SeenLine[]
  return lines.map(({ block, align, pieces }) => ({
    block,
    align,
    units: pieces.flatMap(([text, look]) => text.split('').map((unit) => [unit, look] as const)),
  }))
}

/** Where lines begin, counted in the text. */
const startsOf = (lines: readonly ModelLine[]) => {
  let start = 0
  return lines.map(({ units }) => {
    const at = start
    start += units.length + 1
    return at
  })
}

test('what is typed, cut, copied, pasted, dragged and transposed is what the model says', async () => {
  for (let seed = firstSeed; seed < firstSeed + Math.ceil(sequences / 5); seed += 1) {
    const random = createSeededRandom(seed)
    const below = (count: number) => Math.floor(random() * count)
    const sequence = new Sequence(seed)
    const steps: string[] = []
    try {
      await sequence.open()
      for (let step = 0; step < 6; step += 1) {
        const lines = await model()
        const starts = startsOf(lines)
        const filled = lines.flatMap(({ units }, place) => (units.length > 1 ? [place] : []))
        const place = filled[below(filled.length)] ?? 0
        const { units } = lines[place] ?? assert.fail()
        const from = below(units.length - 1)
        const to = from + 1 + below(units.length - from)
        const others = lines.flatMap(({ block }, other) =>
          other === place || block === 'pre' ? [] : [other],
        )
        const target = others[below(others.length)] ?? 0
        const offset = below((lines[target]?.units.length ?? 0) + 1)
        const part = units.slice(from, to)
        const start = starts[place] ?? 0
        const action = ['type', 'cut and paste', 'copy', 'drag', 'transpose', 'whole lines'][below(6)]
        steps.push(`${action} ${place}:${from}-${to} to ${target}:${offset}`)
        if (action === 'type') {
          await within(0, 'select', start + from)
          await stage.type('xy')
          units.splice(from, 0, ['x', '?'], ['y', '?'])
        } else if (action === 'cut and paste') {
          await within(0, 'select', start + from, start + to)
          await stage.key('Control+x')
          await stage.key('Control+v')
        } else if (action === 'copy') {
          await within(0, 'select', start + from, start + to)
          await stage.key('Control+c')
          await within(0, 'select', (starts[target] ?? 0) + offset)
          await stage.key('Control+v')
          lines[target]?.units.splice(offset, 0, ...part)
        } else if (action === 'drag') {
          await within(0, 'select', start + from, start + to)
          const hit = ((await within(0, 'drag', (starts[target] ?? 0) + offset)) as number | null) ?? -1
          const line = starts.findLastIndex((begin) => begin <= hit)
          const at = hit - (starts[line] ?? 0)
          if (line >= 0 && (line !== place || at < from || at > to)) {
            lines[line]?.units.splice(at, 0, ...part)
            units.splice(line === place && at < from ? from + part.length : from, to - from)
          }
        } else if (action === 'transpose' && from > 0) {
          await within(0, 'select', start + from)
          await within(0, 'transpose')
          const [one, other] = [units[from - 1], units[from]]
          if (one && other) units.splice(from - 1, 2, other, one)
        } else if (action === 'whole lines') {
          const last = Math.min(lines.length - 1, place + below(4))
          await within(0, 'select', start, (starts[last] ?? 0) + (lines[last]?.units.length ?? 0))
          await stage.key('Control+x')
          await stage.key('Control+v')
        }
        await until(
          async () => sameModel(await model(), lines),
          'the document is not what the model says',
          3000,
        )
        await sequence.check()
      }
    } catch (error) {
      const found = JSON.stringify(await within(0, 'seenInDocument'))
      throw new Error(
        `CROSSWIND_FUZZ_SEED=${seed} fails after\n${steps.join('\n')}\nwith ${found}\n${error}`,
        { cause: error },
      )
    }
  }
})

/** A `?` is any look. */
function sameModel(one: readonly ModelLine[], other: readonly ModelLine[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ block, align, units }, place) => {
      const line = other[place]
      return (
        block === line?.block &&
        align === line.align &&
        units.length === line.units.length &&
        units.every(([unit, look], at) => {
          const [wanted, wantedLook] = line.units[at] ?? []
          return unit === wanted && (wantedLook === '?' || look === wantedLook)
        })
      )
    })
  )
}

test('a composition that changes the text by itself is what was seen, with Enter in it too', async () => {
  const random = createSeededRandom(firstSeed)
  for (let round = 0; round < 30; round += 1) {
    await new Sequence(round).open()
    await within(0, 'select', 3)
    const value = ['か', 'kana\n', '😀', ''][round % 4] ?? ''
    await within(0, 'composeWith', value, random(), random())
    assert.equal(await call('fault'), null)
    assert.deepEqual(await within(1, 'seenInDocument'), await within(0, 'seenInDocument'))
  }
})

test('a binding that misses a change is found out', async () => {
  await call('open', 2, 'text')
  await within(0, 'select', 2)
  await within(0, 'sabotage')
  const change: UnaskedChange = { kind: 'command', name: 'insertText', value: 'x' }
  assert.match(String(await within(0, 'changeUnasked', change)), /^p : text\n[\s\S]*instead of\np : texxt\n/)
})
