// The bare page with the least that a shared document needs: Yjs merges, and one caret is drawn.

import { applyUpdate, Doc, encodeStateAsUpdate, encodeStateVector } from 'yjs'
import type { Page, PageMessage, Shown } from '../adapter.ts'
import * as bare from './bare.ts'

export const start = bare.start

interface Change extends PageMessage {
  readonly from: string
  readonly body: { readonly update: number[]; readonly caret: number }
}

export async function open(page: Page) {
  const editor = document.querySelector('#document') as HTMLElement
  const caret = document.body.appendChild(document.createElement('span'))
  caret.style.cssText = 'position: absolute; width: 2px; height: 1em; background: red'
  const doc = new Doc()
  const text = doc.getText()
  const own = new Set<string>()
  const send = await bare.open({ ...page, receive: (data) => page.receive(data, show) })

  function show({ id, body }: Change, { applied }: Shown): void {
    if (own.delete(id)) return
    applyUpdate(doc, Uint8Array.from(body.update))
    editor.textContent = text.toString()
    drawCaret(body.caret)
    applied()
  }

  function drawCaret(place: number): void {
    const [node] = editor.childNodes
    if (!(node instanceof Text)) return
    const range = document.createRange()
    range.setStart(node, Math.min(place, node.length))
    const { left, top } = range.getBoundingClientRect()
    caret.style.transform = `translate(${left + scrollX}px, ${top + scrollY}px)`
  }

  /** Returns where it ends. */
  function merge(from: string, to: string): number {
    const isEqual = (place: number) => from.at(place) === to.at(place)
    const least = Math.min(from.length, to.length)
    let start = 0
    let end = 0
    while (start < least && isEqual(start)) start += 1
    while (end < least - start && isEqual(-1 - end)) end += 1
    const typed = to.slice(start, to.length - end)
    text.delete(start, from.length - end - start)
    text.insert(start, typed)
    return start + typed.length
  }

  return (message: PageMessage) => {
    own.add(message.id)
    const before = encodeStateVector(doc)
    const caret = merge(text.toString(), editor.textContent ?? '')
    const update = [...encodeStateAsUpdate(doc, before)]
    // The page measures what it gave.
    return send(Object.assign(message, { body: { update, caret } }))
  }
}
