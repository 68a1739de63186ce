// Seeded random editing in three windows whose connections fail at random: nothing is lost or
// misplaced. CROSSWIND_ROUNDS=500 and CROSSWIND_SEED=n make it longer or different.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Mode, modes } from '../../protocol/modes.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { switchMode } from './page.ts'
import {
  editorShown,
  faultsSaid,
  openWriter,
  paste,
  reconnect,
  untilEqual,
  type Writer,
} from './shared-editing.ts'
import { browserName, openStage, type Stage } from './stage.ts'

const rounds = Number(process.env.CROSSWIND_ROUNDS || 5)
const seed = Number(process.env.CROSSWIND_SEED || 12)
const stepsInRound = 8
const channel = 'fuzz'
/** A longer text is shortened now and then. */
const longestText = 500

type Aim = 'keep' | 'caret' | 'range' | 'start' | 'half'

interface Seen {
  readonly text: string
  /**
   * Everything shown since the last look, even briefly: others' text may enter a selection just
   * before the key.
   */
  readonly since: string
  readonly isCollapsed: boolean
  /** The character before the caret in its line; null at its beginning and after a break. */
  readonly left: string | null
}

type Fate =
  | 'there'
  | 'deleted'
  /** Undone or redone, or only shown temporarily by an input method. */
  | 'either'

const chords = {
  mark: ['Control+b', 'Control+i', 'Control+u', 'Control+e', 'Control+Shift+x'],
  block: ['Control+Alt+1', 'Control+Alt+2', 'Control+Shift+9', 'Control+Shift+e', 'Control+Alt+0'],
  list: ['Control+Shift+8', 'Control+Shift+7', 'Tab', 'Shift+Tab'],
  erase: ['Backspace', 'Delete', 'Control+Backspace'],
  split: ['Enter', 'Enter', 'Shift+Enter'],
  walk: ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End'],
}

/** The test's record of one window. */
interface Player {
  readonly writer: Writer
  readonly name: string
  readonly modes: readonly Mode[]
  network: 'open' | 'held' | 'cut'
  composing: string | null
  left: string | null
}

class Game {
  readonly #players: readonly Player[]
  readonly #random: () => number
  readonly #fates = new Map<string, Fate>()
  readonly #authors = new Map<string, Player>()
  #next = 0x4e00
  /** Reported on failure. */
  readonly steps: string[] = []

  constructor(players: readonly Player[], random: () => number) {
    this.#players = players
    this.#random = random
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #pick<Value>(from: readonly Value[]): Value {
    return from[this.#below(from.length)] as Value
  }

  /** Characters that were never typed before. */
  #fresh(player: Player, most: number, fate: Fate = 'there'): string {
    const codes = Array.from({ length: 1 + this.#below(most) }, (_, index) => this.#next + index)
    this.#next += codes.length
    const text = String.fromCharCode(...codes)
    for (const character of text) {
      this.#fates.set(character, fate)
      this.#authors.set(character, player)
    }
    return text
  }

  async round(): Promise<void> {
    this.steps.push('')
    for (let step = 0; step < stepsInRound; step += 1) await this.#step(this.#pick(this.#players))
    const committing = this.#players.filter(({ composing }) => composing !== null)
    const isEarly = this.#random() < 0.5
    if (isEarly) for (const player of committing) await this.#commit(player)
    for (const player of this.#players) await this.#connect(player)
    if (!isEarly) for (const player of committing) await this.#commit(player)
    await this.#check()
  }

  async #step(player: Player): Promise<void> {
    if (this.#random() < 0.25) await this.#disturb(player)
    if (player.composing !== null) return this.#composeOn(player)
    const action = this.#pick([
      'type',
      'type',
      'type',
      'type',
      'replace',
      'split',
      'merge',
      'erase',
      'erase',
      'walk',
      'mark',
      'mark',
      'block',
      'list',
      'paste',
      'undo',
      'undo',
      'redo',
      'compose',
      'compose',
    ] as const)
    const isSelecting = action === 'replace' || action === 'mark'
    let aim: Aim = isSelecting ? 'range' : action === 'merge' ? 'start' : this.#pick(['keep', 'caret'])
    if (action === 'compose') aim = 'caret'
    const before = await this.#look(player, aim)
    const isLong = before.text.length > longestText
    this.steps.push(`${player.name}: ${isLong ? 'cut down' : `${action} (${aim})`}`)
    if (isLong) return this.#cutDown(player)
    let typed = ''
    if (action === 'type' || action === 'replace') {
      typed = this.#fresh(player, 6)
      this.steps.push(`  ${typed}`)
      await player.writer.type(typed)
    } else if (action === 'paste') {
      const html = this.#pick([
        '<p>①</p><p>②</p>',
        '<b>①</b> ②',
        '<ul><li>①</li><li>②</li></ul>',
        '<h2>①</h2>②',
      ])
      const first = this.#fresh(player, 3)
      const second = this.#fresh(player, 3)
      typed = first + second
      this.steps.push(`  ${html} ${typed}`)
      await player.writer.run(paste, html.replace('①', first).replace('②', second), `${first}\n${second}`)
    } else if (action === 'compose') {
      player.composing = this.#fresh(player, 2, 'either')
      this.steps.push(`  ${player.composing}`)
      await player.writer.compose(player.composing)
      return
    } else {
      const chord = this.#chordFor(action)
      this.steps.push(`  ${chord}`)
      await player.writer.press(chord)
    }
    const now = await this.#look(player, 'keep')
    const deletes = !before.isCollapsed && action !== 'mark' && action !== 'block' && action !== 'list'
    this.#account(player, action, before.text, now, deletes)
    for (const character of typed)
      assert.ok(now.text.includes(character), `${character} is not shown in ${player.name}: ${now.text}`)
  }

  #chordFor(
    action: 'split' | 'merge' | 'erase' | 'walk' | 'mark' | 'block' | 'list' | 'undo' | 'redo',
  ): string {
    if (action === 'merge') return 'Backspace'
    if (action === 'undo') return 'Control+z'
    if (action === 'redo') return 'Control+Shift+z'
    return this.#pick(chords[action])
  }

  async #cutDown(player: Player): Promise<void> {
    const before = await this.#look(player, 'half')
    await player.writer.press('Delete')
    this.#account(player, 'erase', before.text, await this.#look(player, 'keep'), true)
  }

  async #composeOn(player: Player): Promise<void> {
    if (this.#random() < 0.5) return this.#commit(player)
    this.steps.push(`${player.name}: compose on`)
    player.composing = this.#fresh(player, 3, 'either')
    this.steps.push(`  ${player.composing}`)
    await player.writer.compose(player.composing)
  }

  /** Half of the time with the text already shown. */
  async #commit(player: Player): Promise<void> {
    this.steps.push(`${player.name}: commit`)
    const text = this.#random() < 0.5 && player.composing ? player.composing : this.#fresh(player, 3)
    this.steps.push(`  ${text}`)
    for (const character of text) this.#fates.set(character, 'there')
    await player.writer.commit(text)
    player.composing = null
    const now = await this.#look(player, 'keep')
    for (const character of text)
      assert.ok(now.text.includes(character), `${character} does not show in ${player.name}: ${now.text}`)
  }

  async #disturb(player: Player): Promise<void> {
    const { writer } = player
    if (player.network !== 'open') return this.#connect(player)
    const what = this.#pick(['hold', 'hold', 'cut', 'cut', 'blip', 'switch'])
    this.steps.push(`${player.name}: ${what}`)
    if (what === 'hold') {
      writer.proxy.hold()
      player.network = 'held'
    } else if (what === 'cut') {
      writer.proxy.refuse(true)
      writer.proxy.cut()
      player.network = 'cut'
    } else if (what === 'blip') writer.proxy.cut()
    else await writer.run(switchMode, this.#pick(player.modes).name)
  }

  async #connect(player: Player): Promise<void> {
    if (player.network === 'held') player.writer.proxy.release()
    if (player.network !== 'open') this.steps.push(`${player.name}: resume`)
    player.network = 'open'
    await reconnect(player.writer)
  }

  /** Sets the selection, and reads the window's view of it. */
  async #look(player: Player, aim: Aim): Promise<Seen> {
    const seen = await player.writer.run(look, aim, this.#random(), this.#random())
    player.left = seen.left
    return seen
  }

  #account(player: Player, action: string, before: string, { text, since }: Seen, deletes: boolean): void {
    const isThere = new Set(text)
    for (const character of new Set(since)) {
      const fate = this.#fates.get(character)
      if (fate !== 'there' || isThere.has(character)) continue
      const mayGo =
        deletes ||
        ['erase', 'merge', 'redo'].includes(action) ||
        (action === 'undo' && this.#authors.get(character) === player)
      assert.ok(mayGo, `${character} was removed by ${action} of ${player.name}`)
      this.#fates.set(character, 'deleted')
      this.steps.push(`  without ${character}`)
    }
    if (action !== 'undo' && action !== 'redo') return
    const wasThere = new Set(before)
    for (const character of isThere)
      if (!wasThere.has(character) && this.#fates.get(character) === 'deleted')
        this.#fates.set(character, 'either')
  }

  async #check(): Promise<void> {
    const html = await untilEqual(this.#players.map(({ writer }) => writer))
    const counts = new Map<string, number>()
    for (const character of html) counts.set(character, (counts.get(character) ?? 0) + 1)
    for (const [character, fate] of this.#fates) {
      const count = counts.get(character) ?? 0
      if (fate === 'there') assert.equal(count, 1, `${character} is there ${count} times in ${html}`)
      if (fate === 'deleted') assert.equal(count, 0, `${character} was deleted, but is in ${html}`)
    }
    for (const player of this.#players) {
      const { left: expected, name } = player
      const { left } = await this.#look(player, 'keep')
      if (expected !== null && this.#fates.get(expected) === 'there')
        assert.equal(left, expected, `the caret of ${name} is misplaced in ${html}`)
    }
  }
}

/** Runs in the page. `a` and `b`: from 0 to 1. */
function look(aim: Aim, a: number, b: number): Seen {
  const root = document.querySelector<HTMLElement>('#document')
  if (!root) throw new Error('There is no document.')
  const selection = getSelection()
  const texts: Text[] = []
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) texts.push(walker.currentNode as Text)
  const text = texts.map(({ data }) => data).join('')
  const blocks = [...root.querySelectorAll('p, h1, h2, h3, li, blockquote, pre')]
  const place = (index: number): [Node, number] => {
    let left = index
    for (const node of texts) {
      if (left <= node.data.length) return [node, left]
      left -= node.data.length
    }
    return [blocks[0] ?? root, 0]
  }
  const at = Math.floor(a * (text.length + 1))
  const block = blocks[Math.floor(a * blocks.length)]
  const state = globalThis as typeof globalThis & { since?: string; observer?: MutationObserver }
  const note = (records: readonly MutationRecord[]) => {
    for (const { oldValue, addedNodes, removedNodes } of records)
      state.since += [...addedNodes, ...removedNodes].reduce(
        (all, node) => all + node.textContent,
        oldValue ?? '',
      )
  }
  if (!state.observer) {
    state.observer = new MutationObserver(note)
    const what = { childList: true, characterData: true, characterDataOldValue: true, subtree: true }
    state.observer.observe(root, what)
  }
  note(state.observer.takeRecords())
  const since = (state.since ?? '') + text
  state.since = text
  // Tab leaves the document, except in lists.
  if (document.activeElement !== root) root.focus()
  if (aim === 'caret') selection?.collapse(...place(at))
  if (aim === 'start' && block) selection?.collapse(block, 0)
  if (aim === 'range' || aim === 'half') {
    const most = aim === 'range' ? 12 : text.length / 2
    const other = Math.min(text.length, at + Math.ceil(b * most))
    const [from, to] = b < 0.5 ? [at, other] : [other, at]
    selection?.setBaseAndExtent(...place(from), ...place(to))
  }
  const { focusNode, focusOffset = 0 } = selection ?? {}
  const host = (focusNode instanceof Element ? focusNode : focusNode?.parentElement)?.closest(
    'p, h1, h2, h3, li, blockquote, pre',
  )
  let left: string | null = null
  if (focusNode && host && root.contains(host)) {
    const range = document.createRange()
    range.setStart(host, 0)
    range.setEnd(focusNode, focusOffset)
    const content = range.cloneContents()
    for (const lineBreak of content.querySelectorAll('br')) lineBreak.replaceWith('\n')
    const last = content.textContent.at(-1) ?? '\n'
    if (last > '\u4e00') left = last
  }
  return { text, since, isCollapsed: selection?.isCollapsed ?? true, left }
}

let stage: Stage
let players: Player[] = []
before(async () => {
  if (browserName !== 'chromium') return
  stage = await openStage({ share: 'none' })
  for (const name of ['sse/2', 'polling/2', 'websocket/1.1']) {
    const mode = modes.find((each) => each.name === name) ?? assert.fail(`there is no mode ${name}`)
    const writer = await openWriter(stage.browser, stage.server.ports, mode, channel)
    await writer.click('#document')
    // A relay has one port, for one HTTP version.
    const others = modes.filter(({ http }) => http === mode.http)
    players.push({ writer, name, modes: others, network: 'open', composing: null, left: null })
  }
})
after(async () => {
  for (const { writer } of players) await writer.close()
  players = []
  await stage?.close()
})

test(`${rounds} rounds from seed ${seed}: all windows equal, nothing lost, every caret in its place`, {
  skip: browserName !== 'chromium' && 'compositions from outside are Chromium’s',
}, async () => {
  const game = new Game(players, createSeededRandom(seed))
  const [mode] = modes
  for (let round = 1; round <= rounds; round += 1) {
    try {
      await game.round()
      if (round % 10 !== 0 && round !== rounds) continue
      const [later] = await stage.open(mode as Mode, 1, channel)
      assert.ok(later)
      await untilEqual([later, ...players.map(({ writer }) => writer)])
      await later.close()
    } catch (error) {
      const shown = await Promise.all(players.map(({ writer }) => writer.run(editorShown)))
      throw new Error(
        `CROSSWIND_SEED=${seed}, round ${round}:\n${game.steps.slice(-60).join('\n')}\n${shown.map(({ html }) => html).join('\n')}\n${error}`,
      )
    }
  }
  assert.deepEqual(await faultsSaid(stage.browser), [])
})
