// The shared document between its window and the log: what is published, when, and what is applied.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromBase64 } from 'lib0/buffer'
import * as Y from 'yjs'
import type { Draft, Message } from '../../server/wire/messages.ts'
import { createRecorder, noRecorder } from '../lab.ts'
import type { Unshared } from '../store.ts'
import type { BindingParts } from './binding.ts'
import { createSharedDocument } from './shared-document.ts'

interface Planned {
  readonly at: number
  readonly run: () => void
}

/** A log with windows on it; each window's clock stands still until `wait`. */
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
    open(name: string, change: Partial<Parameters<typeof createSharedDocument>[0]> = {}) {
      let now = 0
      let planned: Planned[] = []
      let hasRoom = true
      let read = 0
      let unshared: Unshared | null = null
      const drafts: Draft<'update'>[] = []
      const document = createSharedDocument({
        channel: 'main',
        recorder: noRecorder,
        mergeMs: 15,
        maxBytes: 100_000,
        random: () => 0.5,
        timers: {
          now: () => now,
          later(run, delayMs) {
            const plan = { at: now + delayMs, run }
            planned.push(plan)
            return () => {
              planned = planned.filter((each) => each !== plan)
            }
          },
        },
        onUnshared(next) {
          unshared = next
        },
        publish(update) {
          if (!hasRoom) return null
          const id = `${name}-${drafts.length + 1}`
          const draft: Draft<'update'> = {
            id,
            channel: 'main',
            kind: 'update',
            from: name,
            at: 0,
            body: { update },
          }
          drafts.push(draft)
          // As the outbox does, through the window.
          document.publishUnsent()
          return draft
        },
        ...change,
      })
      const text = document.doc.getText('text')
      return {
        document,
        drafts,
        type: (words: string, at = text.length) => text.insert(at, words),
        text: () => text.toString(),
        unshared: () => unshared,
        setRoom(room: boolean) {
          hasRoom = room
        },
        wait(ms: number) {
          now += ms
          const due = planned.filter(({ at }) => at <= now)
          planned = planned.filter(({ at }) => at > now)
          for (const { run } of due) run()
        },
        /** Takes what the log has stored since. */
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
  for (const window of windows) {
    window.wait(15)
    for (const draft of window.drafts) {
      room.store(draft)
      window.document.stored(draft.id)
    }
  }
  for (const window of windows) window.read()
}

test('the first change leaves at once, those of the next 15 ms as one', () => {
  const window = createRoom().open('a')
  window.type('a')
  assert.equal(window.drafts.length, 1)
  window.type('b')
  window.type('c')
  window.wait(14)
  assert.equal(window.drafts.length, 1)
  window.wait(1)
  assert.equal(window.drafts.length, 2)
})

test('what waits to be merged is told, and published on demand or where nothing is sent', () => {
  const told: boolean[] = []
  let isConnected = true
  const window = createRoom().open('a', {
    isConnected: () => isConnected,
    onWaiting: (isWaiting) => told.push(isWaiting),
  })
  window.type('a')
  assert.deepEqual(told, [])
  window.type('b')
  window.type('c')
  assert.deepEqual(told, [true])
  window.document.publishUnsent()
  assert.deepEqual(told, [true, false])
  assert.equal(window.drafts.length, 2)
  isConnected = false
  for (const letter of 'def') window.type(letter)
  assert.equal(window.drafts.length, 5)
  assert.deepEqual(told, [true, false])
})

test('with 0 ms each change is a message', () => {
  const window = createRoom().open('a', { mergeMs: 0 })
  for (const letter of 'abc') window.type(letter)
  assert.equal(window.drafts.length, 3)
})

test('changes made at once in two windows are all in both', () => {
  const room = createRoom()
  const [one, other] = [room.open('a'), room.open('b')]
  one.type('wind')
  other.type('sail')
  sync(room, one, other)
  assert.equal(one.text(), other.text())
  assert.deepEqual([...one.text()].sort(), [...'windsail'].sort())
})

test('a window does not apply, and does not record as applied, what it typed itself', () => {
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

test('what found no room in the outbox is published when there is room again', () => {
  const room = createRoom()
  const [one, other] = [room.open('a'), room.open('b')]
  one.setRoom(false)
  one.type('wi')
  one.wait(15)
  one.type('nd')
  one.wait(15)
  assert.equal(one.drafts.length, 0)
  one.setRoom(true)
  one.document.publishUnsent()
  assert.equal(one.drafts.length, 1)
  sync(room, one, other)
  assert.equal(other.text(), 'wind')
})

test('updates merged into one message stay below its size limit', () => {
  const room = createRoom()
  const [one, other] = [room.open('a'), room.open('b')]
  one.setRoom(false)
  for (let part = 0; part < 5; part += 1) one.type('x'.repeat(50_000))
  one.setRoom(true)
  one.document.publishUnsent()
  assert.equal(one.drafts.length, 5)
  assert.ok(one.drafts.every((draft) => JSON.stringify(draft).length < 100_000))
  sync(room, one, other)
  assert.equal(other.text().length, 250_000)
})

test('drafts from before a reload are shown, and not published again', () => {
  const room = createRoom()
  const closed = room.open('a')
  closed.type('wind')
  const reopened = room.open('a2')
  reopened.document.restore(closed.drafts)
  reopened.wait(15)
  assert.equal(reopened.text(), 'wind')
  assert.equal(reopened.drafts.length, 0)
})

test('a refused change is said, a later one too', () => {
  const window = createRoom().open('a')
  window.type('wind')
  window.document.refused('someone-else-1')
  assert.equal(window.unshared(), null)
  window.document.refused('a-1')
  assert.deepEqual(window.unshared(), { reason: 'refused' })
})

test('a server that lost its log gets the document back, deletions too', () => {
  const room = createRoom()
  const window = room.open('a')
  window.type('windy')
  sync(room, window)
  window.document.doc.getText('text').delete(4, 1)
  sync(room, window)
  // The new log holds the first message only.
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

test('what a new log refuses, since it lacks what came before, is brought with the rest', () => {
  const room = createRoom()
  const window = room.open('a')
  window.type('wind')
  sync(room, window)
  room.log.length = 0
  window.document.newLog()
  window.type('y')
  assert.equal(window.document.refused('a-2'), false)
  assert.equal(window.unshared(), null)
  window.wait(1500)
  const restored = window.drafts.at(-1)
  assert.ok(restored)
  const late = new Y.Doc()
  Y.applyUpdate(late, fromBase64(restored.body.update))
  assert.equal(late.getText('text').toString(), 'windy')
})

test('a log that has everything gets nothing again', () => {
  const room = createRoom()
  const [one, other] = [room.open('a'), room.open('b')]
  one.type('wind')
  sync(room, one, other)
  other.document.newLog()
  other.startAgain()
  other.read()
  other.wait(1500)
  assert.equal(other.drafts.length, 0)
})

test('who has chosen a name signs the first change, once', () => {
  const room = createRoom()
  const [one, other] = [room.open('a', { author: () => 'Ada' }), room.open('b')]
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
