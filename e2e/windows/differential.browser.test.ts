// Whatever changes the editor's DOM, the document is what a person saw right after the change, caret included.
// CROSSWIND_FUZZ_ROUNDS=2000 and CROSSWIND_FUZZ_SEED=n make it longer, or repeat a sequence that failed.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createSeededRandom } from '../../server/wire/time.ts'
import type { BrowserName } from '../browser/browser.ts'
import type { UnaskedChange } from './binding-page.ts'
import { type BindingStage, openBindingStage } from './binding-stage.ts'

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
    await this.#check()
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
    await this.#check()
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
  async #check(): Promise<void> {
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

test('a binding that misses a change is found out', async () => {
  await call('open', 2, 'text')
  await within(0, 'select', 2)
  await within(0, 'sabotage')
  const change: UnaskedChange = { kind: 'command', name: 'insertText', value: 'x' }
  assert.match(String(await within(0, 'changeUnasked', change)), /^p : text\n[\s\S]*instead of\np : texxt\n/)
})
