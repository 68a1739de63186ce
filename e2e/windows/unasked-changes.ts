// Changes of the DOM as extensions, spell checkers and scripts make them, without an input event.

import { type Quirk, quirks } from './dom-oracle.ts'

export type UnaskedChange =
  | { readonly kind: 'command'; readonly name: string; readonly value: string }
  | {
      readonly kind: 'replace' | 'wrap' | 'split' | 'block' | 'loose' | 'remove' | 'move' | 'copy' | 'nest'
      /** Select a node and a place; from 0 up to 1. */
      readonly at: number
      readonly to: number
      readonly value: string
    }
  | { readonly kind: 'quirk'; readonly value: Quirk }

export function makeUnasked(root: HTMLElement, change: UnaskedChange): void {
  if (change.kind === 'command') {
    document.execCommand(change.name, false, change.value)
    return
  }
  if (change.kind === 'quirk') {
    root.innerHTML = quirks[change.value].example
    return
  }
  const { at, to, value } = change
  const pick = <Item>(items: readonly Item[], share: number) => items[Math.floor(share * items.length)]
  const texts: Text[] = []
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) texts.push(walker.currentNode as Text)
  const text = pick(texts, at)
  const top = pick([...root.children], at)
  const other = pick([...root.childNodes], to)
  if (change.kind === 'replace' && text) {
    const from = Math.floor(to * (text.length + 1))
    text.replaceData(from, Math.min(3, text.length - from), value)
  } else if (change.kind === 'wrap' && text) {
    const wrapper = document.createElement(value)
    if (wrapper instanceof HTMLAnchorElement) wrapper.href = 'https://example.org/'
    text.replaceWith(wrapper)
    wrapper.append(text)
  } else if (change.kind === 'split' && text) text.splitText(Math.floor(to * (text.length + 1)))
  else if (change.kind === 'loose') root.insertBefore(document.createTextNode(value), other ?? null)
  else if (change.kind === 'block') {
    const block = document.createElement(pick(['div', 'p', 'h2', 'section'], to) ?? 'div')
    block.textContent = value
    top?.after(block)
  } else if (change.kind === 'nest') {
    const block = document.createElement('div')
    block.textContent = value
    text?.parentElement?.insertBefore(block, to < 0.5 ? text : null)
  } else if (change.kind === 'remove' && root.children.length > 1) top?.remove()
  else if (change.kind === 'move' && top && top !== other) root.insertBefore(top, other ?? null)
  else if (change.kind === 'copy' && top) root.insertBefore(top.cloneNode(true), other ?? null)
}
