// Bound editables, each in a frame with its own document and selection. The page around the frames
// relays their updates, holds them back, and delivers them in part, twice or in another order.

import MediumEditor from 'medium-editor'
import * as Y from 'yjs'
import { readHtml, writeHtml } from '../../app/document/html.ts'
import { createDocument, depthsOf, documentText, linesOf, type Marks } from '../../app/document/rich-text.ts'
import { Binding } from '../../web/editor/binding.ts'
import { takeCopies, takePastes } from '../../web/editor/clipboard.ts'
import type { EditorCommands } from '../../web/editor/commands.ts'
import { Rendering } from '../../web/editor/rendering.ts'
import { EditHistory } from '../../web/editor/undo.ts'
import { type Quirk, readSeen, type Seen, type SeenLine } from './dom-oracle.ts'
import { indexOf, positionOf, trackIndex } from './text-positions.ts'
import { makeUnasked, type UnaskedChange } from './unasked-changes.ts'

interface Editable {
  readonly root: HTMLElement
  readonly doc: Y.Doc
  readonly text: Y.Text
  readonly binding: Binding
  readonly stop: () => void
}

/** The page's clock, which only tests advance. */
declare const clock: { now: number }

/** The functions that a test can call in a frame. */
class FrameDoor {
  #editable: Editable | null = null
  #typing: (() => number | null) | null = null

  open(clientID: number, state: Uint8Array, onUpdate: (update: Uint8Array) => void): void {
    this.#editable?.stop()
    this.#editable?.root.remove()
    // The default, before any script sets it.
    document.execCommand('styleWithCSS', false, 'false')
    const root = document.createElement('div')
    root.contentEditable = 'true'
    document.body.append(root)
    // As in the page.
    MediumEditor.extensions.paste = MediumEditor.Extension
    const extensions = { imageDragging: {} }
    const editor = new MediumEditor(root, { toolbar: { buttons: [] }, placeholder: false, extensions })
    const doc = createDocument()
    doc.clientID = clientID
    Y.applyUpdate(doc, state, 'log')
    const text = documentText(doc)
    const binding = new Binding({ root, text, history: new EditHistory(text), mayWrite: true })
    const { commands } = binding.editor
    const stopCopies = takeCopies({ root, binding, mayWrite: true })
    const stopPastes = takePastes({ root, commands, onPasted: () => undefined, onFailed: () => undefined })
    const stop = () => {
      for (const end of [stopPastes, stopCopies, () => binding.stop(), () => editor.destroy()]) end()
    }
    this.#editable = { root, doc, text, binding, stop }
    doc.on('update', (update: Uint8Array, origin: unknown) => {
      if (origin !== 'log') onUpdate(update)
    })
  }

  receive(update: Uint8Array): void {
    Y.applyUpdate(this.#here().doc, update, 'log')
  }

  /** Lets time pass on the page's clock, then focuses the editable. */
  focus(passedMs: number): void {
    clock.now += passedMs
    this.#here().root.focus()
  }

  /** Sets the caret or selection, by text indices. */
  select(anchor: number, head = anchor): void {
    this.#here().root.focus()
    getSelection()?.setBaseAndExtent(...positionOf(this.#here(), anchor), ...positionOf(this.#here(), head))
  }

  command<Name extends keyof EditorCommands>(name: Name, ...args: Parameters<EditorCommands[Name]>): void {
    const command = this.#here().binding.editor.commands[name] as (...given: unknown[]) => unknown
    command(...args)
  }

  insertHtml(html: string): void {
    this.#here().binding.editor.commands.insert(readHtml(html, { isOwn: true }).lines)
  }

  /** As if another program had written the clipboard. */
  paste(type: 'text/plain' | 'text/html', content: string): void {
    const clipboardData = new DataTransfer()
    clipboardData.setData(type, content)
    const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
    // Firefox gives no data to an event created by a page.
    if (!event.clipboardData?.types.length)
      Object.defineProperty(event, 'clipboardData', { value: clipboardData })
    this.#here().root.dispatchEvent(event)
  }

  insertLong(length: number): void {
    const lines = Array.from({ length: length / 1000 }, (_, index) => ({
      runs: [{ text: 'x'.repeat(index === length / 1000 - 1 ? 1000 : 999), marks: {} }],
      block: 'p',
      align: null,
    }))
    this.#here().binding.editor.commands.insert(lines)
  }

  /** Changes the document as another user would, in a message of its own. */
  edit(index: number, inserted: string, removed = 0): void {
    const { doc, text } = this.#here()
    doc.transact(() => {
      text.delete(index, removed)
      text.insert(index, inserted, {})
    })
  }

  /** Changes the DOM without telling the binding. */
  tamper(what: 'text' | 'structure' | 'marks'): void {
    const { root } = this.#here()
    if (what === 'text') root.firstElementChild?.append('hello')
    else if (what === 'structure') {
      const block = document.createElement('div')
      block.textContent = 'new'
      root.firstElementChild?.after(block)
    } else {
      const mark = document.createElement('b')
      const paragraph = root.lastElementChild
      if (paragraph) mark.append(...paragraph.childNodes)
      paragraph?.append(mark)
    }
  }

  /**
   * Changes the DOM as extensions, spell checkers and scripts do, without an input event. Returns
   * how the document then differs from what was visible right after the change, before the binding
   * drew anything; null if it does not. `others` is what another user writes at that time, in
   * characters that occur nowhere else; `copied` a quirk that the document should reproduce.
   */
  async changeUnasked(
    change: UnaskedChange,
    others: OthersText | null = null,
    copied?: Quirk,
  ): Promise<string | null> {
    const { root } = this.#here()
    if (others?.isFirst) others.write()
    makeUnasked(root, change)
    if (others && !others.isFirst) others.write()
    const { focusNode, focusOffset = 0 } = getSelection() ?? {}
    const seen = readSeen(root, focusNode ?? null, focusOffset, copied)
    const html = root.innerHTML
    // The binding's observer is called first.
    await null
    this.draw()
    const index = this.selected()?.head
    const lines = this.seenInDocument()
    const { lines: present, caret } = withoutText(
      { lines, caret: index === undefined ? null : caretIn(lines, index) },
      others?.text ?? '',
    )
    // If the last line disappears, text that others wrote in it stays.
    if (others && present.length > seen.lines.length && present.at(-1)?.pieces.length === 0) present.pop()
    const wanted = [...seen.lines.map(shown), `caret ${seen.caret?.line} ${seen.caret?.offset}`]
    const found = [...present.map(shown), `caret ${caret?.line} ${caret?.offset}`]
    const from = wanted.findIndex((line, index) => line !== found[index])
    if (from < 0 && wanted.length === found.length) return null
    return `${found.slice(from, from + 4).join('\n')}\ninstead of\n${wanted.slice(from, from + 4).join('\n')}\nof ${html}`
  }

  /** The document's lines, as they should be visible. */
  seenInDocument(): SeenLine[] {
    const lines = linesOf(this.#here().text)
    const depths = depthsOf(lines)
    return lines.map(({ block, align, runs }, index) => ({
      block: depths[index] ? `${block.slice(0, 2)}${depths[index]}` : block,
      align: align ?? '',
      pieces: runs.map(({ text, marks }) => [text, lookOf(marks)] as const),
    }))
  }

  /**
   * Drags the selection to a text index, or to where the browser maps that point, which it returns.
   * No driver drags text in both browsers, so the events are synthetic.
   */
  drag(to: number): number | null {
    const { root } = this.#here()
    const [node, offset] = positionOf(this.#here(), to)
    const range = document.createRange()
    range.setStart(node, offset)
    const element = node instanceof Element ? node : node.parentElement
    element?.scrollIntoView({ block: 'center' })
    const { left, top, height } =
      range.getClientRects()[0] ?? element?.getBoundingClientRect() ?? new DOMRect()
    const place = { clientX: left, clientY: top + height / 2 }
    const hit = document.caretPositionFromPoint(place.clientX, place.clientY)
    const index = hit && indexOf(this.#here(), hit.offsetNode, hit.offset)
    const options = { bubbles: true, cancelable: true, dataTransfer: new DataTransfer(), ...place }
    for (const type of ['dragstart', 'drop', 'dragend']) root.dispatchEvent(new DragEvent(type, options))
    return index
  }

  /**
   * As a keyboard would; with a target range by text indices, which only a synthetic event can
   * have.
   */
  input(inputType: string, data: string | null, from = -1, to = from): void {
    const { root } = this.#here()
    const event = new InputEvent('beforeinput', { inputType, data, bubbles: true, cancelable: true })
    if (from >= 0) {
      const [startContainer, startOffset] = positionOf(this.#here(), from)
      const [endContainer, endOffset] = positionOf(this.#here(), to)
      const range = new StaticRange({ startContainer, startOffset, endContainer, endOffset })
      Object.defineProperty(event, 'getTargetRanges', { value: () => [range] })
    }
    root.dispatchEvent(event)
  }

  /** Replaces the whole document by this text, as restoring a version does. */
  replaceBy(text: string): void {
    this.#here().binding.editor.replace([{ runs: [{ text, marks: {} }], block: 'p', align: null }])
  }

  directions(): string[] {
    return [...this.#here().root.children].map((block) => getComputedStyle(block).direction)
  }

  /** Left edges of a caret’s rectangles. */
  rectsAt(index: number): number[] {
    return this.#here()
      .binding.drawn.rectsOf(index, index)
      .map(({ left }) => left)
  }

  /** Does what Ctrl+T does on a Mac. */
  transpose(): void {
    this.input('insertTranspose', null)
  }

  /** A keyboard composition built from its events: it changes the DOM itself. */
  composeWith(value: string, at: number, to: number): void {
    const { root } = this.#here()
    root.dispatchEvent(new CompositionEvent('compositionstart', { bubbles: true }))
    makeUnasked(root, { kind: 'replace', value, at, to })
    root.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true }))
  }

  /** Stops observing the DOM, so that a test can prove that faults are detected. */
  sabotage(): void {
    this.#here().binding.stop()
  }

  /**
   * Scrolls so that the line with this text is slightly above the middle; returns its distance from
   * the top.
   */
  scrollTo(text: string): number {
    const host = [...this.#here().root.children].find(({ textContent }) => textContent === text)
    host?.scrollIntoView({ block: 'center' })
    return this.topOf(text)
  }

  topOf(text: string): number {
    const host = [...this.#here().root.children].find(({ textContent }) => textContent === text)
    return host?.getBoundingClientRect().top ?? Number.NaN
  }

  text(): string {
    return this.#here().text.toString()
  }

  html(): string {
    return writeHtml(linesOf(this.#here().text))
  }

  blocks(): string[] {
    return linesOf(this.#here().text).map(({ block }) => block)
  }

  /** Text indices, counted in the DOM. */
  selected(): { anchor: number; head: number } | null {
    const { anchorNode, anchorOffset = 0, focusNode, focusOffset = 0 } = getSelection() ?? {}
    if (!anchorNode || !focusNode) return null
    const anchor = indexOf(this.#here(), anchorNode, anchorOffset)
    const head = indexOf(this.#here(), focusNode, focusOffset)
    return anchor === null || head === null ? null : { anchor, head }
  }

  /** The same, from the binding. */
  selection(): { anchor: number; head: number } | null {
    const { binding, doc } = this.#here()
    const selection = binding.drawn.selection()
    const absolute = (position: Y.RelativePosition) =>
      Y.createAbsolutePositionFromRelativePosition(position, doc)?.index ?? -1
    return selection && { anchor: absolute(selection.anchor), head: absolute(selection.head) }
  }

  /** Returns a function that says where the selection must be now, whatever changed since. */
  trackSelection(): () => { anchor: number | null; head: number | null } | null {
    const { doc, text } = this.#here()
    const selection = this.selected()
    if (!selection) return () => null
    const anchor = trackIndex(doc, text, selection.anchor)
    const head = trackIndex(doc, text, selection.head)
    return () => {
      const now = { anchor: anchor(), head: head() }
      return now.anchor === null || now.head === null ? null : now
    }
  }

  /** Records where typing or a composition begins: the left end of the selection. */
  trackTyping(): void {
    const selection = this.selected()
    const { doc, text } = this.#here()
    const index = selection && Math.min(selection.anchor, selection.head)
    this.#typing = index === null ? null : trackIndex(doc, text, index)
  }

  /** Where the text typed since then must be; null if that is undetermined. */
  typedAt(): number | null {
    return this.#typing?.() ?? null
  }

  state() {
    const { marks, ...state } = this.#here().binding.editor.commands.state()
    return { ...state, marks: [...marks] }
  }

  isComposing(): boolean {
    return this.#here().binding.drawn.isComposing
  }

  /** Draws pending changes without waiting for a frame. */
  draw(): void {
    this.#here().binding.drawn.rectsOf(0, 0)
  }

  /** How the DOM differs from a fresh drawing of its text; null if it does not. */
  fault(): string | null {
    const { root, text } = this.#here()
    const expected = root.cloneNode(false) as HTMLElement
    new Rendering(expected).redraw(linesOf(text))
    const shown = root.cloneNode(true) as HTMLElement
    shown.normalize()
    expected.normalize()
    return shown.isEqualNode(expected) ? null : `${shown.innerHTML}\ninstead of ${expected.innerHTML}`
  }

  #here(): Editable {
    if (!this.#editable) throw new Error('The frame has no editable.')
    return this.#editable
  }
}

function lookOf(marks: Marks): string {
  const names = (['bold', 'italic', 'underline', 'strike', 'code'] as const).filter((name) => marks[name])
  const others = [marks.script ?? [], marks.link === undefined ? [] : `link ${marks.link}`].flat()
  return [...names, ...others].sort().join(' ')
}

function shown({ block, align, pieces }: SeenLine): string {
  return `${block} ${align}: ${pieces.map(([text, look]) => (look === '' ? text : `${text}<${look}>`)).join('')}`
}

function caretIn(lines: readonly SeenLine[], index: number): Seen['caret'] {
  let offset = index
  for (const [line, { pieces }] of lines.entries()) {
    const length = pieces.reduce((sum, [text]) => sum + text.length, 0)
    if (offset <= length) return { line, offset }
    offset -= length + 1
  }
  return null
}

/** Text that another user writes before or after a change. */
interface OthersText {
  readonly text: string
  readonly isFirst: boolean
  readonly write: () => void
}

/** The same lines without the characters of `text`, each of which must occur once. */
function withoutText({ lines, caret }: Seen, text: string): { lines: SeenLine[]; caret: Seen['caret'] } {
  const found = lines
    .flatMap(({ pieces }) => pieces.flatMap(([piece]) => [...piece]))
    .filter((unit) => text.includes(unit))
  if (found.length !== text.length) throw new Error(`The document has “${found.join('')}” of “${text}”.`)
  let offset = caret?.offset ?? 0
  const others = lines.map((line, index) => {
    let at = 0
    const pieces: [string, string][] = []
    for (const [piece, look] of line.pieces)
      for (const unit of piece.split('')) {
        const isTheirs = text.includes(unit)
        if (isTheirs && index === caret?.line && at < caret.offset) offset -= 1
        at += 1
        if (isTheirs) continue
        const last = pieces.at(-1)
        if (last?.[1] === look) last[0] += unit
        else pieces.push([unit, look])
      }
    return { ...line, pieces }
  })
  return { lines: others, caret: caret && { ...caret, offset } }
}

interface Frame {
  readonly door: FrameDoor
  readonly window: Window
  /** Messages of the log that it received in order; `early` ones came in addition. */
  received: number
  isHeld: boolean
}

class PageDoor {
  #frames: Frame[] = []
  #log: { readonly update: Uint8Array; readonly from: number }[] = []

  /** Gives each of the first `count` frames a new editable with these paragraphs. */
  async open(count: number, ...paragraphs: string[]): Promise<void> {
    while (this.#frames.length < count) this.#frames = [...this.#frames, await this.#addFrame()]
    const first = createDocument()
    first.clientID = 1
    for (const paragraph of paragraphs)
      documentText(first).insert(documentText(first).length, `${paragraph}\n`, {})
    const state = Y.encodeStateAsUpdate(first)
    this.#log = []
    for (const [index, frame] of this.#frames.entries()) {
      Object.assign(frame, { received: 0, isHeld: false })
      frame.door.open(100 + index, state, (update) => {
        this.#log.push({ update, from: index })
        this.#exchange()
      })
    }
  }

  /** Calls a function that a frame exposes. */
  in<Name extends keyof FrameDoor>(index: number, name: Name, ...args: Parameters<FrameDoor[Name]>) {
    const { door } = this.#at(index)
    return (door[name] as (...given: unknown[]) => unknown)(...args) as ReturnType<FrameDoor[Name]>
  }

  /**
   * Like a frame's `changeUnasked`, while another editable writes characters that occur nowhere
   * else.
   */
  changeBeside(
    change: UnaskedChange,
    [index, other]: readonly [number, number],
    { text, share, isFirst }: { readonly text: string; readonly share: number; readonly isFirst: boolean },
  ): Promise<string | null> {
    const write = () => {
      const { door } = this.#at(other)
      const there = door.text()
      const index = Math.floor(share * there.length)
      const isHalf = /[\uDC00-\uDFFF]/.test(there[index] ?? '')
      door.edit(isHalf ? index - 1 : index, text)
    }
    return this.in(index, 'changeUnasked', change, { text, isFirst, write })
  }

  hold(index: number, isHeld: boolean): void {
    this.#at(index).isHeld = isHeld
    this.#exchange()
  }

  /** Delivers some of the messages that an editable lacks, including held ones. */
  receiveSome(index: number, share: number): void {
    const frame = this.#at(index)
    this.#receive(frame, frame.received + Math.ceil((this.#log.length - frame.received) * share))
  }

  /** Delivers the newest messages first, and some old ones again. */
  receiveInDisorder(index: number, count: number): void {
    const frame = this.#at(index)
    for (let index = this.#log.length - 1; index >= Math.max(0, this.#log.length - count); index -= 1)
      this.#take(frame, index)
  }

  /** Sizes of messages since the beginning, in bytes. */
  messageSizes(): number[] {
    return this.#log.map(({ update }) => update.length)
  }

  domSelection(index: number): { text: string; isBackward: boolean } {
    const selection = this.#at(index).window.getSelection()
    const { anchorNode, focusNode } = selection ?? {}
    if (!selection || !anchorNode || !focusNode) return { text: '', isBackward: false }
    const order = anchorNode.compareDocumentPosition(focusNode)
    const isBackward =
      anchorNode === focusNode
        ? selection.focusOffset < selection.anchorOffset
        : (order & Node.DOCUMENT_POSITION_PRECEDING) !== 0
    return { text: selection.toString(), isBackward }
  }

  /** Waits until pending changes are drawn in a frame. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      requestAnimationFrame(() => setTimeout(resolve))
    })
  }

  /**
   * Draws at once, and returns what is wrong in a frame without a composition; null if all are
   * right.
   */
  fault(): string | null {
    for (const [index, { door }] of this.#frames.entries()) {
      if (door.isComposing()) continue
      door.draw()
      const fault = door.fault()
      if (fault !== null) return `editable ${index} shows ${fault}`
    }
    return null
  }

  /**
   * Acts in the page while tracking all selections; returns what is wrong with those of the other
   * editables.
   */
  misplaced(
    acting: number,
    act: 'hold' | 'receiveSome' | 'receiveInDisorder',
    amount: number,
  ): string | null {
    for (const { door } of this.#frames) door.draw()
    const tracked = this.#frames.map(({ door }) => (door.isComposing() ? null : door.trackSelection()))
    const before = this.#frames.map(
      ({ door }) => `${JSON.stringify(door.selected())} in ${JSON.stringify(door.text())}`,
    )
    if (act === 'hold') this.hold(acting, amount === 1)
    else this[act](acting, amount)
    for (const [index, { door }] of this.#frames.entries()) {
      if (door.isComposing()) continue
      door.draw()
      const expected = JSON.stringify(tracked[index]?.())
      const actual = JSON.stringify(door.selected())
      if (tracked[index]?.() && expected !== actual)
        return `editable ${index} selects ${actual} instead of ${expected} in ${JSON.stringify(door.text())}, before: ${before[index]}`
    }
    return null
  }

  #at(index: number): Frame {
    const frame = this.#frames[index]
    if (!frame) throw new Error(`There is no editable ${index}.`)
    return frame
  }

  #take(frame: Frame, index: number): void {
    const message = this.#log[index]
    if (message && this.#frames[message.from] !== frame) frame.door.receive(message.update)
  }

  #receive(frame: Frame, to: number): void {
    while (frame.received < to) this.#take(frame, frame.received++)
  }

  #exchange(): void {
    for (const frame of this.#frames) if (!frame.isHeld) this.#receive(frame, this.#log.length)
  }

  async #addFrame(): Promise<Frame> {
    const element = document.createElement('iframe')
    element.src = '/frame'
    document.body.append(element)
    const { contentWindow } = element
    if (!contentWindow) throw new Error('The frame has no window.')
    await new Promise((resolve) => {
      element.addEventListener('load', resolve)
    })
    const { door } = contentWindow as Window & { door?: FrameDoor }
    if (!door) throw new Error('The frame has no door.')
    return { door, window: contentWindow, received: 0, isHeld: false }
  }
}

export type { FrameDoor, PageDoor as Door }

Object.assign(globalThis, { door: parent === window ? new PageDoor() : new FrameDoor() })
