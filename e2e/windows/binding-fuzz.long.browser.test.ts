// Seeded random editing by several people, with real keys and compositions: nothing is lost.
// CROSSWIND_ROUNDS=500 and CROSSWIND_SEED=n make it longer, or repeat a round that failed.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { FrameDoor } from './binding-page.ts'
import { type BindingStage, openBindingStage } from './binding-stage.ts'

const rounds = Number(process.env.CROSSWIND_ROUNDS ?? 10)
const firstSeed = Number(process.env.CROSSWIND_SEED ?? 1)
const editors = 3
const steps = 25

let stage: BindingStage
before(async () => {
  stage = await openBindingStage('chromium')
})
after(() => stage.close())

const call: BindingStage['call'] = (action, ...args) => stage.call(action, ...args)

function within<Name extends keyof FrameDoor>(
  index: number,
  action: Name,
  ...args: Parameters<FrameDoor[Name]>
): Promise<ReturnType<FrameDoor[Name]>> {
  return call('in', index, action as never, ...(args as never)) as never
}

/** mulberry32: numbers from 0 up to 1. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A round: its steps, and what each may do to characters, each of which is typed once. */
class Round {
  readonly #random: () => number
  /** Steps so far, for the report of a failure. */
  readonly steps: string[] = []
  /** Characters that someone deleted or undid. */
  readonly #deleted = new Set<string>()
  readonly #typed = new Map<string, number>()
  #next = 0x4e00

  constructor(seed: number) {
    this.#random = seeded(seed)
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[this.#below(choices.length)] as T
  }

  #fresh(author: number, most: number): string {
    let text = ''
    for (let count = 1 + this.#below(most); count > 0; count -= 1) {
      const character = String.fromCharCode(this.#next++)
      this.#typed.set(character, author)
      text += character
    }
    return text
  }

  async step(): Promise<void> {
    const editor = this.#below(editors)
    const action = this.#pick([
      'type',
      'type',
      'type',
      'type',
      'select',
      'select',
      'split',
      'delete',
      'delete',
      'move',
      'mark',
      'block',
      'list',
      'link',
      'paste',
      'undo',
      'compose',
      'compose',
      'deliver',
      'deliver',
      'others',
    ])
    this.steps.push(`${this.steps.length}: ${editor} ${action}`)
    if (action === 'deliver') await this.#deliver(editor)
    else if (action === 'others') await this.#edit(editor)
    else {
      await within(editor, 'focus', this.#below(800))
      const before = await within(editor, 'text')
      const typed = await this.#act(editor, action)
      const after = await within(editor, 'text')
      this.#account(editor, action, before, after, typed)
    }
    assert.equal(await call('fault'), null)
    assert.deepEqual(stage.errors(), [])
  }

  #note(detail: string): void {
    this.steps.push(`${this.steps.pop()} ${detail}`)
  }

  /** Returns the typed text. */
  async #act(editor: number, action: string): Promise<string> {
    if (action === 'type') {
      const text = this.#fresh(editor, 4)
      this.#note(text)
      if ((await within(editor, 'selected')) === null) await within(editor, 'select', 0)
      await within(editor, 'trackTyping')
      await stage.type(text)
      await this.#checkPlace(editor, text)
      return text
    }
    if (action === 'select') {
      const length = (await within(editor, 'text')).length
      const anchor = this.#below(Math.max(1, length))
      const head = this.#random() < 0.5 ? anchor : this.#below(Math.max(1, length))
      this.#note(`${anchor} ${head}`)
      await within(editor, 'select', anchor, head)
      return ''
    }
    if (action === 'compose') return this.#compose(editor)
    if (action === 'paste') {
      const [a, b, c, d] = [1, 1, 1, 1].map(() => this.#fresh(editor, 2))
      const html = this.#pick([
        `${a}<b>${b}</b>${c}${d}`,
        `<p>${a}</p><p>${b}<br>${c}</p>${d}`,
        `<h2>${a}</h2><ul><li>${b}<ol><li>${c}</li></ol></li></ul><p>${d}</p>`,
        `<blockquote>${a}</blockquote><pre>${b}\n${c}</pre><p>${d}<img alt="cat" src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></p>`,
      ])
      this.#note(html)
      await within(editor, 'insertHtml', html)
      return `${a}${b}${c}${d}`
    }
    const keys: Record<string, readonly string[]> = {
      split: ['Enter', 'Enter', 'Shift+Enter'],
      delete: ['Backspace', 'Backspace', 'Delete', 'Control+Backspace'],
      move: ['ArrowLeft', 'ArrowRight', 'Home', 'End', 'Shift+ArrowRight', 'Shift+ArrowUp', 'Control+a'],
      undo: ['Control+z', 'Control+z', 'Control+Shift+z', 'Control+y'],
    }
    const choices = keys[action]
    if (choices) {
      const key = this.#pick(choices)
      this.#note(key)
      await stage.key(key)
    } else if (action === 'mark') {
      const mark = this.#pick(['bold', 'italic', 'code', 'sub', 'super'] as const)
      this.#note(mark)
      await within(editor, 'command', 'toggleMark', mark)
    } else if (action === 'block') {
      const block = this.#pick(['p', 'h1', 'blockquote', 'pre'] as const)
      this.#note(block)
      await within(editor, 'command', 'setBlock', block)
    } else if (action === 'list') {
      const kind = this.#pick(['ul', 'ol', 'Tab', 'Shift+Tab'] as const)
      this.#note(kind)
      if (kind === 'ul' || kind === 'ol') await within(editor, 'command', 'toggleList', kind)
      else await within(editor, 'command', 'indent', kind === 'Tab' ? 1 : -1)
    } else if (action === 'link') {
      const before = await within(editor, 'text')
      const selected = await within(editor, 'selected')
      // At a caret outside links it would insert the address.
      if (before !== '' && selected?.anchor !== selected?.head)
        await within(editor, 'command', 'setLink', this.#pick(['https://a.org/', null]))
    }
    return ''
  }

  /** Others' changes arrive during the composition. */
  async #compose(editor: number): Promise<string> {
    if ((await within(editor, 'selected')) === null) await within(editor, 'select', 0)
    await within(editor, 'trackTyping')
    const parts = 1 + this.#below(3)
    for (let part = 0; part < parts; part += 1) {
      await stage.compose('かきく'.slice(0, part + 1))
      if (this.#random() < 0.6) await this.#deliver(editor)
      if (this.#random() < 0.5) await this.#edit((editor + 1) % editors)
    }
    const text = this.#random() < 0.2 ? '' : this.#fresh(editor, 3)
    this.#note(`commits ${text}`)
    if (text === '') await stage.compose('')
    else {
      await stage.commit(text)
      await this.#checkPlace(editor, text)
    }
    return text
  }

  /** Typed or composed text follows the character that was to its left. */
  async #checkPlace(editor: number, typed: string): Promise<void> {
    const expected = await within(editor, 'typedAt')
    const text = await within(editor, 'text')
    if (expected !== null)
      assert.equal(text.indexOf(typed), expected, `${typed} is misplaced in ${JSON.stringify(text)}`)
  }

  async #deliver(editor: number): Promise<void> {
    const [act, amount] = this.#pick([
      ['hold', 1],
      ['hold', 1],
      ['hold', 0],
      ['receiveSome', 0.5],
      ['receiveSome', 1],
      ['receiveInDisorder', 1 + this.#below(6)],
    ] as const)
    this.#note(`${act} ${amount}`)
    assert.equal(await call('misplaced', editor, act, amount), null)
  }

  /** Someone edits that document outside its editable. */
  async #edit(editor: number): Promise<void> {
    const text = await within(editor, 'text')
    const index = this.#below(text.length + 1)
    const removed = this.#random() < 0.3 ? Math.min(this.#below(4), text.length - index) : 0
    for (const character of text.slice(index, index + removed)) this.#deleted.add(character)
    const inserted = this.#random() < 0.2 ? '\n' : this.#fresh(editor, 3)
    this.#note(`edits ${editor} at ${index}: -${removed} +${inserted}`)
    await within(editor, 'edit', index, inserted, removed)
  }

  #account(editor: number, action: string, before: string, after: string, typed: string): void {
    const present = new Set(after)
    for (const character of typed) assert.ok(present.has(character), `${character} was typed and is missing`)
    const gone = [...before].filter((character) => this.#typed.has(character) && !present.has(character))
    if (action === 'undo') {
      for (const character of gone)
        assert.equal(this.#typed.get(character), editor, `undo took back another’s ${character}`)
    } else if (['select', 'move', 'mark', 'block', 'list', 'link'].includes(action))
      assert.deepEqual(gone, [], `${action} deleted`)
    for (const character of gone) this.#deleted.add(character)
  }

  async end(): Promise<void> {
    for (let editor = 0; editor < editors; editor += 1)
      assert.equal(await call('misplaced', editor, 'hold', 0), null)
    assert.equal(await call('fault'), null)
    const [first = '', ...others] = await Promise.all(
      Array.from({ length: editors }, (_, editor) => within(editor, 'html')),
    )
    for (const html of others) assert.equal(html, first)
    const text = new Set(await within(0, 'text'))
    for (const character of this.#typed.keys())
      assert.ok(text.has(character) || this.#deleted.has(character), `${character} is lost`)
    assert.deepEqual(stage.errors(), [])
  }
}

test(`${rounds} rounds by three people, from seed ${firstSeed}`, async () => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed += 1) {
    const round = new Round(seed)
    try {
      await call('open', editors, 'αβγ', 'δεζηθ', 'ικλ')
      for (let step = 0; step < steps; step += 1) await round.step()
      await round.end()
    } catch (error) {
      throw new Error(`CROSSWIND_SEED=${seed} fails after\n${round.steps.join('\n')}`, { cause: error })
    }
  }
})
