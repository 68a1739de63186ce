// The page's document: who signs it, what outlives an editor, and when a change counts as shown.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import type { Draft, Message } from '../../protocol/messages.ts'
import { createRecorder } from '../lab.ts'
import type { Binding, BindingParts } from './binding.ts'
import { SharedDocument } from './shared-document.ts'

const root = {} as HTMLElement

function open({
  author = '',
  recorder = null,
}: {
  author?: string
  recorder?: ReturnType<typeof createRecorder> | null
} = {}) {
  const document = new SharedDocument({ recorder, author: () => author })
  const editors: BindingParts[] = []
  const text = document.doc.getText('text')
  return {
    document,
    text,
    editors,
    attach: (rest: Partial<BindingParts> = {}) =>
      document.attach(
        root,
        (parts) => {
          editors.push(parts)
          return { stop: () => undefined } as Binding
        },
        rest,
      ),
    type: (words: string) => text.insert(text.length, words),
    give: (other: SharedDocument) => Y.applyUpdate(other.doc, Y.encodeStateAsUpdate(document.doc)),
  }
}

const message = (id: string): Message<'update'> => ({
  id,
  channel: 'main',
  kind: 'update',
  from: 'b',
  at: 0,
  seq: 1,
  acceptedAt: 0,
  body: { update: '' },
})

test('a user who has chosen a name signs the first change, once', () => {
  const { document, editors, attach, type } = open({ author: 'Ada' })
  attach()
  let changes = 0
  document.doc.getMap('authors').observe(() => {
    changes += 1
  })
  for (const letter of 'wind') {
    editors[0]?.onInput?.(0)
    type(letter)
  }
  assert.deepEqual(document.doc.getMap('authors').toJSON(), { [document.doc.clientID]: { name: 'Ada' } })
  assert.equal(changes, 1)
})

test('what was changed in one editor can be undone in the next, without what others wrote meanwhile', () => {
  const window = open()
  const other = open()
  const detach = window.attach()
  window.document.doc.transact(() => window.type('mine'), window.editors[0]?.history.origin)
  window.give(other.document)
  detach()
  other.type(' theirs')
  other.give(window.document)
  // A deleted document is read-only in between.
  window.attach({ mayWrite: false })()
  window.attach()
  const history = window.editors.at(-1)?.history
  assert.equal(history?.canUndo, true)
  history?.revert('undo')
  assert.equal(String(window.text), ' theirs')
  assert.equal(history?.canRedo, true)
  history?.revert('redo')
  assert.equal(String(window.text), 'mine theirs')
})

test('a change counts as applied once an editor has drawn it; a draft has the time of its input', () => {
  let now = 4
  const recorder = createRecorder(
    () => now,
    () => undefined,
  )
  const { document, editors, attach } = open({ recorder })
  const first = message('b-1')
  recorder.received(first, 1)
  document.willApply(first)
  const detach = attach()
  editors[0]?.onApplied?.()
  const second = message('b-2')
  recorder.received(second, 2)
  document.willApply(second)
  assert.deepEqual(
    recorder.take().received.map(({ appliedAt }) => appliedAt),
    [null, null],
  )
  now = 5
  editors[0]?.onApplied?.()
  editors[0]?.onInput?.(3)
  document.drafted({ ...message('a-1'), at: 6 } as Draft)
  document.drafted({ ...message('a-2'), at: 7 } as Draft)
  const { sent, received } = recorder.take()
  assert.deepEqual(
    received.map(({ appliedAt }) => appliedAt),
    [null, 5],
  )
  assert.deepEqual(
    sent.map(({ id, sentAt, inputAt }) => [id, sentAt, inputAt]),
    [
      ['a-1', 6, 3],
      ['a-2', 7, null],
    ],
  )
  detach()
})
