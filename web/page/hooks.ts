// Shared by components: props, actions, hooks for store and clock, menu keys.

import { type KeyboardEvent, useEffect, useReducer, useState, useSyncExternalStore } from 'react'
import type { PageStart } from '../../app/shared/page-messages.ts'
import type { OutboxState } from '../../client/drafts.ts'
import { browserTimers } from '../../client/transports.ts'
import { windowModeNamed } from '../../protocol/modes.ts'
import type { LateCode } from '../late-code.ts'
import type { Store, View } from '../store.ts'
import type { PageActions } from './actions.ts'
import { http1Warning } from './wording.ts'

export interface CommonProps {
  readonly store: Store
  readonly actions: PageActions
}

export interface PageProps extends CommonProps {
  readonly start: PageStart
}

/**
 * Rerenders only when the selected part changes. `select` must return a primitive or an existing part,
 * never a new object.
 */
export function useView<Part>(store: Store, select: (view: View) => Part): Part {
  return useSyncExternalStore(store.subscribe, () => select(store.view()))
}

/** A deleted document cannot be edited. */
export function useMayWrite(store: Store, { mayWrite }: Pick<PageStart, 'mayWrite'>): boolean {
  return useView(store, ({ deletion }) => deletion === null) && mayWrite
}

/**
 * Ms since the epoch by the clock that stamps arrivals; setting the wall clock does not change it. Read at each render,
 * so that a countdown begins at its pause; rerenders every `periodMs` while `isRunning`.
 */
export function useNow(periodMs: number, isRunning: boolean): number {
  const [, rerender] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(rerender, periodMs)
    return () => clearInterval(timer)
  }, [periodMs, isRunning])
  return browserTimers.now()
}

/** Edits are usually stored within a few ms: showing each would flicker and render twice per key. */
const showDelayMs = 250

/** While connected, unsent edits appear after `showDelayMs`; without a connection, those not persisted yet. */
export function useOutbox(store: Store): OutboxState {
  const [outbox, setOutbox] = useState(() => store.view().outbox)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const stopWatching = store.subscribe(onChange)
    onChange()
    return () => {
      stopWatching()
      clearTimeout(timer)
    }
    function onChange(): void {
      const { outbox, link } = store.view()
      const isSending = link.state === 'open' && (outbox.unstored > 0 || outbox.isFull)
      const isBeingPersisted = outbox.canPersist && outbox.persisted < outbox.unstored
      if (isSending || isBeingPersisted) timer ??= setTimeout(show, showDelayMs)
      else show()
    }
    function show(): void {
      clearTimeout(timer)
      timer = undefined
      // The same object while unchanged, so that wind readings cause no rerender.
      const { outbox: now } = store.view()
      setOutbox((shown) => (now.unstored === 0 && shown.unstored === 0 && !shown.isFull ? shown : now))
    }
  }, [store])
  return outbox
}

export function useHttp1Warning(store: Store) {
  // The browser's other connections are known only while this one is open.
  const mode = useView(store, ({ link }) => (link.state === 'open' ? link.mode : null))
  const streams = useView(store, (view) => view.browserHttp1Streams)
  const share = useView(store, (view) => view.share)
  const spokenHttp = useView(store, ({ link }) => link.spokenHttp)
  return mode === null ? null : http1Warning(windowModeNamed(mode), streams, share, spokenHttp)
}

/** Null until it is loaded, which begins when it is wanted. `onFailure` gets one sentence. */
export function useLateCode<Code>(
  code: LateCode<Code>,
  isWanted: boolean,
  onFailure: (sentence: string) => void,
): Code | null {
  const [loaded, setLoaded] = useState(() => code.loaded)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once each time that it is wanted.
  useEffect(() => {
    if (isWanted && loaded === null)
      code.load().then(
        (one) => setLoaded(() => one),
        ({ message }: Error) => onFailure(message),
      )
  }, [isWanted])
  return loaded
}

/**
 * The sentence of the last failure, or null; and a function that runs something that may reject
 * with an Error whose message can be displayed.
 */
export function useAttempt() {
  const [failure, setFailure] = useState<string | null>(null)
  async function attempt(act: () => Promise<unknown>): Promise<void> {
    setFailure(null)
    try {
      await act()
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error))
    }
  }
  return { failure, setFailure, attempt }
}

/**
 * For `onMouseDown`: pressing a button leaves the focus where it is, such as in the text, and in Firefox the
 * selection too.
 */
export function keepFocus(event: { preventDefault(): void }): void {
  event.preventDefault()
}

/**
 * Keeps the selection and its direction while a field has the focus, and shows it where the browser
 * can. The range follows others' edits.
 */
export function keepSelection(root: Element): () => void {
  const selection = getSelection()
  const { anchorNode, focusNode } = selection ?? {}
  if (!selection?.rangeCount || !root.contains(anchorNode ?? null) || !root.contains(focusNode ?? null))
    return () => undefined
  const range = selection.getRangeAt(0).cloneRange()
  const isBackward = selection.direction
    ? selection.direction === 'backward'
    : selection.anchorNode !== range.startContainer || selection.anchorOffset !== range.startOffset
  CSS.highlights?.set('kept-selection', new Highlight(range))
  return () => {
    const { startContainer, startOffset, endContainer, endOffset } = range
    if (!root.contains(startContainer)) return
    if (isBackward) selection.setBaseAndExtent(endContainer, endOffset, startContainer, startOffset)
    else selection.setBaseAndExtent(startContainer, startOffset, endContainer, endOffset)
  }
}

export const dropKeptSelection = () => CSS.highlights?.delete('kept-selection')

/**
 * Index of the item that a key leads to, wrapping around; null for other keys (WAI-ARIA Authoring
 * Practices, "Menu and Menubar Pattern").
 */
export function indexAfterKey(key: string, index: number, count: number): number | null {
  if (key === 'ArrowDown') return (index + 1) % count
  if (key === 'ArrowUp') return (index - 1 + count) % count
  if (key === 'Home') return 0
  return key === 'End' ? count - 1 : null
}

/** Without those that a narrow screen leaves out. */
export const itemsIn = (element: Element, selector: string): readonly HTMLElement[] =>
  [...element.querySelectorAll<HTMLElement>(selector)].filter((item) => item.checkVisibility())

/** Focuses the item below an element that a key leads to; `key` defaults to the event's. */
export function focusByKey(event: KeyboardEvent, selector: string, key = event.key): void {
  const items = itemsIn(event.currentTarget, selector)
  const next = indexAfterKey(key, items.indexOf(document.activeElement as HTMLElement), items.length)
  if (next === null) return
  event.preventDefault()
  items[next]?.focus()
}
