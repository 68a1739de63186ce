// Undo and redo of this window's changes, which restore the selection.

import * as Y from 'yjs'
import type { SelectedText } from './selection.ts'

const undoPauseMs = 500

export class EditHistory {
  /** The origin of this window's user's transactions. */
  readonly origin = { name: 'this window’s user' }
  readonly #manager: Y.UndoManager
  /** The selection before the current change. */
  #before: SelectedText | null = null
  #isInStep = false

  constructor(text: Y.Text) {
    this.#manager = new Y.UndoManager(text, {
      trackedOrigins: new Set([this.origin]),
      captureTimeout: undoPauseMs,
    })
    this.#manager.on('stack-item-added', ({ stackItem }) => stackItem.meta.set('selection', this.#before))
  }

  get canUndo(): boolean {
    return this.#manager.undoStack.length > 0
  }

  get canRedo(): boolean {
    return this.#manager.redoStack.length > 0
  }

  /** Whether a transaction with this origin is this window's user's, including undo and redo. */
  isOwn(origin: unknown): boolean {
    return origin === this.origin || origin === this.#manager
  }

  /** Call before each change. */
  beforeChange(selection: SelectedText | null): void {
    this.#before = selection
  }

  /** Makes the changes of `act` one undo step, separate from what was typed around it. A step may contain others. */
  asStep(act: () => void): void {
    if (this.#isInStep) {
      act()
      return
    }
    this.#isInStep = true
    this.#manager.stopCapturing()
    this.#manager.captureTimeout = Number.POSITIVE_INFINITY
    try {
      act()
    } finally {
      this.#manager.captureTimeout = undoPauseMs
      this.#manager.stopCapturing()
      this.#isInStep = false
    }
  }

  /** Returns the selection from before the reverted change; null if there was none. */
  revert(by: 'undo' | 'redo'): SelectedText | null {
    const popped: SelectedText[] = []
    const onPopped = ({ stackItem }: { stackItem: { meta: Map<unknown, unknown> } }) => {
      const selection = stackItem.meta.get('selection') as SelectedText | null | undefined
      if (selection) popped.push(selection)
    }
    this.#manager.on('stack-item-popped', onPopped)
    this.#manager[by]()
    this.#manager.off('stack-item-popped', onPopped)
    return popped.at(-1) ?? null
  }
}
