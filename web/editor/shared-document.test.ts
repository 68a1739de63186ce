// The shared document between its window and the log: what it publishes and applies, and when.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromBase64, toBase64 } from 'lib0/buffer'
import * as Y from 'yjs'
import type { Draft, Message } from '../../server/wire/messages.ts'
import { createManualTime } from '../../server/wire/testing.ts'
import { createRecorder } from '../lab.ts'
import type { Binding, BindingParts } from './binding.ts'
import { SharedDocument } from './shared-document.ts'

/** A log with windows attached. */
function createRoom() {
  const log: Message<'update'>[] = []
  return {
    log,
    store(draft: Draft<'update'>): Message<'update'> {
      const known = log.find(({ id }) => id === draft.id)
      if (known) return known
      const message = { ...draft, seq: log.length + 1, acceptedAt: 0 }
      log.push(message)
      return message
    },
    open(name: string, change: Partial<ConstructorParameters<typeof SharedDocument>[0]> = {}) {
      const time = createManualTime(0)
      const unstored = new Set<string>()
      const drafts: Draft<'update'>[] = []
      let read = 0
      let isUnshared = false
      function publish(channel: string, kind: string, body: object) {
        const draft = { id: `${name}-${drafts.length + 1}`, channel, kind, from: name, at: 0, body }
        drafts.push(draft as Draft<'update'>)
        unstored.add(draft.id)
        return draft as Draft<never>
      }
      const document = new SharedDocument({
        channel: 'main',
        link: { publish, outbox: { has: (id) => unstored.has(id) } },
        recorder: null,
        random: () => 0.5,
        timers: time,
        author: () => '',
        onUnshared() {
          isUnshared = true
        },
        ...change,
      })
      const text = document.doc.getText('text')
      return {
        document,
        drafts,
        unstored,
        type: (words: string, at = text.length) => text.insert(at, words),
        text: () => text.toString(),
        isUnshared: () => isUnshared,
        wait: time.advance,
        /** Reads what the log has stored since. */
        read() {
          for (const message of log.slice(read)) document.received(message)
          read = log.length
        },
        startAgain: () => {
          read = 0
        },
      }
    },
  }
}

type Room = ReturnType<typeof createRoom>
type Window = ReturnType<Room['open']>

function sync(room: Room, ...windows: Window[]): void {
  for (const { drafts, unstored } of windows) {
    for (const draft of drafts) room.store(draft)
    unstored.clear()
  }
  for (const window of windows) window.read()
}

test('changes made at the same time in two windows end up in both', () => {
  const room = createRoom()
  const one = room.open('a')
  const other = room.open('b')
  one.type('wind')
  other.type('sail')
  sync(room, one, other)
  assert.equal(one.text(), other.text())
  assert.deepEqual([...one.text()].sort(), [...'windsail'].sort())
})

test('a window does not apply its own typing again, or record it as applied', () => {
  const room = createRoom()
  const recorder = createRecorder(
    () => 5,
    () => undefined,
  )
  const window = room.open('a', { recorder })
  window.type('wind')
  const [draft] = window.drafts
  assert.ok(draft)
  const message = room.store(draft)
  recorder.received(message, 4)
  window.read()
  assert.equal(recorder.take().received[0]?.appliedAt, null)
  assert.equal(window.text(), 'wind')
})

test('a base that includes a window’s newest update brings it what others wrote', () => {
  const room = createRoom()
  const one = room.open('a')
  const other = room.open('b')
  other.type('wind')
  one.type('sail')
  const updates = [...other.drafts, ...one.drafts].map(({ body }) => fromBase64(body.update))
  const [draft] = one.drafts
  assert.ok(draft)
  const base = { update: toBase64(Y.mergeUpdates(updates)), owners: {} }
  one.document.received({ ...draft, body: base, seq: 2, acceptedAt: 0 })
  assert.deepEqual([...one.text()].sort(), [...'windsail'].sort())
})

test('drafts from before a reload are shown, and not published again', () => {
  const room = createRoom()
  const closed = room.open('a')
  closed.type('wind')
  const reopened = room.open('a2')
  reopened.document.restore(closed.drafts)
  assert.equal(reopened.text(), 'wind')
  assert.equal(reopened.drafts.length, 0)
})

test('a refused change is reported, as is a later one', () => {
  const window = createRoom().open('a')
  window.type('wind')
  window.document.refused({ kind: 'title' })
  assert.equal(window.isUnshared(), false)
  window.document.refused({ kind: 'update' })
  assert.equal(window.isUnshared(), true)
})

test('a server that lost its log gets the document back, including deletions', () => {
  const room = createRoom()
  const window = room.open('a')
  window.type('windy')
  sync(room, window)
  window.document.doc.getText('text').delete(4, 1)
  sync(room, window)
  // The new log holds only the first message.
  room.log.length = 1
  window.document.newLog()
  window.startAgain()
  window.read()
  window.wait(1500)
  const [, , restored] = window.drafts
  assert.ok(restored)
  const late = new Y.Doc()
  for (const { body } of [...room.log, restored]) Y.applyUpdate(late, fromBase64(body.update))
  assert.equal(late.getText('text').toString(), 'wind')
})

test('an update refused for a gap in a new log is sent later with the rest of the document', () => {
  const room = createRoom()
  const window = room.open('a')
  window.type('wind')
  sync(room, window)
  room.log.length = 0
  window.document.newLog()
  window.type('y')
  assert.equal(window.document.refused({ kind: 'update' }), false)
  assert.equal(window.isUnshared(), false)
  window.wait(1500)
  const restored = window.drafts.at(-1)
  assert.ok(restored)
  const late = new Y.Doc()
  Y.applyUpdate(late, fromBase64(restored.body.update))
  assert.equal(late.getText('text').toString(), 'windy')
})

test('a log that has everything gets nothing again', () => {
  const room = createRoom()
  const one = room.open('a')
  const other = room.open('b')
  one.type('wind')
  sync(room, one, other)
  other.document.newLog()
  other.startAgain()
  other.read()
  other.wait(1500)
  assert.equal(other.drafts.length, 0)
})

test('a user who has chosen a name signs the first change, once', () => {
  const room = createRoom()
  const one = room.open('a', { author: () => 'Ada' })
  const other = room.open('b')
  let input: BindingParts['onInput']
  one.document.attach({} as HTMLElement, (parts) => {
    input = parts.onInput
    return { stop: () => undefined } as ReturnType<Parameters<typeof one.document.attach>[1]>
  })
  for (const letter of 'wind') {
    input?.(0)
    one.type(letter)
  }
  sync(room, one, other)
  const { doc } = other.document
  assert.deepEqual(doc.getMap('authors').toJSON(), { [one.document.doc.clientID]: { name: 'Ada' } })
})

test('what was changed in one editor can be undone in the next, without what others wrote meanwhile', () => {
  const room = createRoom()
  const window = room.open('a')
  const other = room.open('b')
  const editors: BindingParts[] = []
  const bind = (parts: BindingParts) => {
    editors.push(parts)
    return { stop: () => undefined } as Binding
  }
  const root = {} as HTMLElement
  const detach = window.document.attach(root, bind)
  window.document.doc.transact(() => window.type('mine'), editors[0]?.history.origin)
  sync(room, window, other)
  detach()
  other.type(' theirs')
  sync(room, window, other)
  // A deleted document is read-only in between.
  window.document.attach(root, bind, { mayWrite: false })()
  window.document.attach(root, bind)
  const history = editors.at(-1)?.history
  assert.equal(history?.canUndo, true)
  history?.revert('undo')
  assert.equal(window.text(), ' theirs')
  assert.equal(history?.canRedo, true)
  history?.revert('redo')
  assert.equal(window.text(), 'mine theirs')
})
