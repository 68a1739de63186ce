// Shared by components: props, actions, hooks for store and clock, menu keys.

import { useEffect, useReducer, useState, useSyncExternalStore } from 'react'
import { browserTimers, type OutboxState } from '../../client/index.ts'
import type { Line } from '../../server/document/rich-text.ts'
import type { PageStart } from '../../server/wire/messages.ts'
import { modeNamed } from '../../server/wire/modes.ts'
import type { Store, Tone, View, WindChoices } from '../store.ts'
import type { ViewName } from './views.ts'
import { http1Warning } from './wording.ts'

export interface CommonProps {
  readonly store: Store
  readonly actions: Actions
}

/** A person's actions; all that components know of the link. */
export interface Actions {
  /** `name` as in the modes table, such as `sse/2`. */
  switchMode(name: string): void
  openWindow(): void
  retryNow(): void
  dismissRefusal(): void
  /** Replaces the page's content for everybody with a closed window's unsent edit. */
  restoreLeft(id: string): void
  discardLeft(id: string): void
  /** Also changes the address. */
  chooseView(name: ViewName): void
  dismissViewNotice(): void
  /** This window's user, as others see it; empty for a guest. Kept in this browser. */
  chooseName(name: string): void
  /** Shows a sentence until it is dismissed; by default a warning. */
  notify(sentence: string, tone?: Tone): void
  /** Deletes a document, or brings it back. Rejects with an Error for people. */
  deleteDocument(channel: string, deleted: boolean): Promise<void>
  /** An empty title stands for the channel's name. */
  rename(title: string): void
  /** Opens a document in this window; a new one gets `name` as its title. Rejects with an Error for people. */
  createDocument(name: string, channel: string, isNew: boolean): Promise<void>
  /** Inserts a file's content at the end of the document. */
  importFile(file: File): Promise<void>
  /** Makes the document's text equal to a version, as an edit that can be undone. */
  restoreVersion(version: readonly Line[]): Promise<void>
  /** `at`: of the version's last update, as the log has it. Empty, the name is taken away. */
  nameVersion(at: number, name: string): void
  chooseWind(change: Partial<WindChoices>): void
}

/**
 * Rerenders only when the selected part changes. `select` must return a primitive or an existing part,
 * never a new object.
 */
export function useView<Part>(store: Store, select: (view: View) => Part): Part {
  return useSyncExternalStore(store.subscribe, () => select(store.view()))
}

/** A deleted document takes nothing. */
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

/** While connected, unsent edits appear after `showDelayMs`. */
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
      const isUnderWay = outbox.unstored > 0 || outbox.isFull
      if (isUnderWay && link.state === 'open') timer ??= setTimeout(show, showDelayMs)
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
  return mode === null ? null : http1Warning(modeNamed(mode), streams, share)
}

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
