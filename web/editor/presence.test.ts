// Checks who is listed and where carets are, from states and from typists' updates.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  Awareness,
  applyAwarenessUpdate,
  encodeAwarenessUpdate,
  removeAwarenessStates,
} from 'y-protocols/awareness'
import * as Y from 'yjs'
import { createDocument, documentText } from '../../app/document/rich-text.ts'
import { toBase64 } from '../../protocol/base64.ts'
import { createManualTime } from '../../protocol/testing.ts'
import { cleanName, initialsOf, type Person, Presence, placeAfter, unchosenName } from './presence.ts'

interface RoomWindow {
  readonly window: string
  readonly doc: Y.Doc
  readonly awareness: Awareness
  readonly presence: Presence
}

/** Passes the state that `from` shows to the window `to`. */
function show(from: RoomWindow, to: RoomWindow): void {
  // A client that was removed may come back with any clock.
  to.awareness.meta.delete(from.doc.clientID)
  applyAwarenessUpdate(to.awareness, encodeAwarenessUpdate(from.awareness, [from.doc.clientID]), 'other')
}

const hide = (from: RoomWindow, to: RoomWindow) =>
  removeAwarenessStates(to.awareness, [from.doc.clientID], 'other')

/** Windows of one document; updates and states travel instantly. */
function openRoom(t: TestContext) {
  const time = createManualTime()
  const windows: RoomWindow[] = []
  const senders = new Map<number, string>()

  function open(window: string, name: string | null = null) {
    const doc = createDocument()
    const text = documentText(doc)
    const awareness = new Awareness(doc)
    t.after(() => awareness.destroy())
    senders.set(doc.clientID, window)
    let sent = 0
    let people: readonly Person[] = []
    let selected: [number, number] | null = null
    for (const other of windows) Y.applyUpdate(doc, Y.encodeStateAsUpdate(other.doc))
    const presence = new Presence({
      window,
      awareness,
      senders: () => new Map(Array.from(senders).filter(([, one]) => one !== window)),
      timers: time,
      name,
      onPeople(next) {
        people = next
      },
      onCarets: () => undefined,
    })
    awareness.on('update', (_change: unknown, origin: unknown) => {
      if (origin !== 'local') return
      sent += 1
      for (const other of windows) if (other !== self) show(self, other)
    })
    doc.on('update', (update: Uint8Array, origin: unknown) => {
      if (origin === 'log') return
      const body = { update: toBase64(update) }
      presence.settled(false)
      for (const other of windows) {
        if (other === self) continue
        Y.applyUpdate(other.doc, update, 'log')
        other.presence.received({ from: window, body })
      }
      presence.stored(body.update)
      presence.settled(true)
    })
    const at = (index: number) => Y.createRelativePositionFromTypeIndex(text, index, -1)
    presence.attach({ selection: () => selected && { anchor: at(selected[0]), head: at(selected[1]) } })
    const self = {
      window,
      doc,
      text,
      awareness,
      presence,
      sent: () => sent,
      people: () => people.map(({ name, isTyping }) => (isTyping ? `${name}…` : name)),
      colours: () => Object.fromEntries(people.map(({ window, colour }) => [window, colour])),
      /** Moves the caret or selects, and waits until that is shown. */
      select(anchor: number, head = anchor): void {
        selected = [anchor, head]
        presence.showSoon()
        time.advance(100)
      },
      type(letters: string): void {
        for (const letter of letters) {
          const index = selected?.[1] ?? 0
          text.insert(index, letter)
          self.select(index + 1)
        }
      },
      erase(): void {
        const index = (selected?.[1] ?? 0) - 1
        text.delete(index, 1)
        self.select(index)
      },
      /** Such as `w1 3` or `w1 3-5`. */
      carets: () =>
        presence
          .carets()
          .map(({ window: other, anchor, head }) => `${other} ${anchor}${anchor === head ? '' : `-${head}`}`),
    }
    windows.push(self)
    for (const other of windows)
      if (other !== self) {
        show(other, self)
        show(self, other)
      }
    return self
  }

  return { time, open }
}

test('a caret is seen in its place, and a selection with its direction', (t) => {
  const { open } = openRoom(t)
  const one = open('w1')
  const other = open('w2')
  one.text.insert(0, 'Hello')
  assert.deepEqual(other.carets(), ['w1 5'])
  one.select(2)
  assert.deepEqual(other.carets(), ['w1 2'])
  one.select(4, 1)
  assert.deepEqual(other.carets(), ['w1 4-1'])
})

test('typing, erasing and splitting lines move the caret in other windows without sending a state', (t) => {
  const { open } = openRoom(t)
  const one = open('w1')
  const other = open('w2')
  one.select(0)
  const before = one.sent()
  one.type('Hello\nworld')
  assert.deepEqual(other.carets(), ['w1 11'])
  one.erase()
  one.erase()
  assert.deepEqual(other.carets(), ['w1 9'])
  assert.equal(one.sent(), before)
  one.select(3)
  assert.equal(one.sent(), before + 1)
  one.type('XY')
  assert.deepEqual(other.carets(), ['w1 5'])
  assert.equal(one.sent(), before + 1)
})

test('edits by others above it move it with its text', (t) => {
  const { open } = openRoom(t)
  const one = open('w1')
  const other = open('w2')
  const third = open('w3')
  one.select(0)
  one.type('Hello')
  one.select(3)
  other.select(0)
  other.type('>> ')
  assert.deepEqual(third.carets().toSorted(), ['w1 6', 'w2 3'])
  other.text.delete(0, 8)
  assert.ok(third.carets().includes('w1 0'))
})

test('a state waits until the log has what was typed before it', (t) => {
  const { open, time } = openRoom(t)
  const one = open('w1')
  one.text.insert(0, 'Hello')
  time.advance(100)
  const before = one.sent()
  one.presence.settled(false)
  one.select(2)
  assert.equal(one.sent(), before)
  one.presence.settled(true)
  time.advance(100)
  assert.equal(one.sent(), before + 1)
})

test('a newcomer learns the carets of windows that have only typed', (t) => {
  const { open, time } = openRoom(t)
  const one = open('w1')
  one.select(0)
  one.type('Hello')
  const late = open('w2')
  time.advance(100)
  assert.deepEqual(late.carets(), ['w1 5'])
  const sent = one.sent()
  time.advance(60_000)
  assert.equal(one.sent(), sent)
})

test('lists this window first, and shows who is typing for three seconds', (t) => {
  const { open, time } = openRoom(t)
  const one = open('w1', 'Zoe')
  const other = open('w2', 'Ada')
  open('w3', 'Bob')
  assert.deepEqual(one.people(), ['Zoe', 'Ada', 'Bob'])
  other.select(0)
  other.type('x')
  assert.deepEqual(one.people(), ['Zoe', 'Ada…', 'Bob'])
  assert.deepEqual(other.people(), ['Ada', 'Bob', 'Zoe'])
  time.advance(3000)
  assert.deepEqual(one.people(), ['Zoe', 'Ada', 'Bob'])
})

test('a window that left is listed for another second, and stays if it returns', (t) => {
  const { open, time } = openRoom(t)
  const one = open('w1', 'Ada')
  const other = open('w2', 'Bob')
  hide(one, other)
  time.advance(900)
  show(one, other)
  time.advance(5000)
  assert.deepEqual(other.people(), ['Bob', 'Ada'])
  hide(one, other)
  time.advance(1000)
  assert.deepEqual([other.people(), other.carets()], [['Bob'], []])
})

test('up to ten windows have ten colours, the same in every window', (t) => {
  const { open } = openRoom(t)
  const windows = Array.from({ length: 10 }, (_, index) => open(`w${index}`))
  const coloursIn = ({ colours }: (typeof windows)[number]) =>
    Object.fromEntries(Object.entries(colours()).toSorted())
  const [first, ...others] = windows.map(coloursIn)
  assert.equal(new Set(Object.values(first ?? {})).size, 10)
  for (const other of others) assert.deepEqual(other, first)
})

test('a name is shown to all as soon as it is chosen; a window without one has the same guest name everywhere', (t) => {
  const { open } = openRoom(t)
  const one = open(`${'k'.repeat(22)}.w1`)
  const other = open(`${'k'.repeat(22)}.w2`)
  assert.match(other.people()[1] ?? '', /^Guest [A-Z][a-z]+$/)
  assert.equal(one.people()[0], other.people()[1])
  assert.equal(one.presence.chooseName(' Ada\u202e  Lovelace\n'), 'Ada Lovelace')
  assert.deepEqual([one.people()[0], other.people()[1]], ['Ada Lovelace', 'Ada Lovelace'])
})

test('a program has the name that it sends under, not one that is made up', (t) => {
  const { open } = openRoom(t)
  const reader = open(`${'k'.repeat(22)}.w1`)
  const program = open('seed')
  assert.deepEqual(reader.people().slice(1), ['seed'])
  program.type('x')
  assert.deepEqual(
    reader.presence.carets().map(({ name }) => name),
    ['seed'],
  )
  assert.equal(program.presence.chooseName('Importer'), 'Importer')
  assert.deepEqual(reader.people().slice(1), ['Importer…'])
  assert.deepEqual(['import.nightly', '\u202e'].map(unchosenName), ['import.nightly', 'A program'])
})

test('a state that is not what windows show lists the window, and neither shows a caret nor adds to the document', (t) => {
  const { open } = openRoom(t)
  const one = open('w1')
  const other = open('w2')
  one.text.insert(0, 'Hello')
  const foreign = Y.relativePositionToJSON(
    Y.createRelativePositionFromTypeIndex(new Y.Doc().getText('other'), 0),
  )
  for (const position of [
    foreign,
    'AAAA',
    3,
    null,
    { item: { client: -1, clock: -1 } },
    { item: { client: 'x' } },
  ])
    for (const user of [undefined, 5, { name: 7 }]) {
      other.awareness.setLocalState({ user, cursor: { anchor: position, head: position } })
      assert.deepEqual([one.carets(), one.people().length], [[], 2])
    }
  assert.deepEqual([...one.doc.share.keys()].includes('other'), false)
})

test('over another connection a window shows where its caret is by now', (t) => {
  const { open, time } = openRoom(t)
  const one = open('w1')
  const other = open('w2')
  one.select(0)
  one.type('Hello')
  const sent = one.sent()
  // The server shows the newest state again, which is from before the typing.
  hide(one, other)
  show(one, other)
  one.presence.connected()
  time.advance(100)
  assert.deepEqual([other.carets(), one.sent()], [['w1 5'], sent + 1])
  one.presence.connected()
  time.advance(100)
  assert.equal(one.sent(), sent + 1)
})

test('a window that was away, and shows what it showed before, has its caret where its typing ended', (t) => {
  const { open, time } = openRoom(t)
  const one = open('w1', 'Ada')
  const other = open('w2', 'Bob')
  one.select(0)
  one.type('Hello')
  hide(one, other)
  time.advance(5000)
  one.type('!')
  assert.deepEqual([other.people(), other.carets()], [['Bob'], []])
  show(one, other)
  assert.deepEqual([other.people(), other.carets()], [['Bob', 'Ada…'], ['w1 6']])
  hide(one, other)
  time.advance(5000)
  one.select(2)
  show(one, other)
  assert.deepEqual(other.carets(), ['w1 2'])
})

test('formatting, and a document sent as a whole, move no caret', () => {
  const doc = createDocument()
  const text = documentText(doc)
  const updates: string[] = []
  text.insert(0, 'Hello')
  doc.on('update', (update: Uint8Array) => updates.push(toBase64(update)))
  text.format(0, 3, { bold: true })
  const another = createDocument()
  documentText(another).insert(0, 'x')
  Y.applyUpdate(doc, Y.encodeStateAsUpdate(another))
  assert.equal(placeAfter(updates[0] ?? ''), null)
  assert.equal(placeAfter(toBase64(Y.encodeStateAsUpdate(doc))), null)
})

test('names are one line of at most 40 characters, without characters that affect the surrounding text', () => {
  assert.equal(cleanName('a\u0000b\u202ec\u2066d\ud800e'), 'a bcde')
  assert.equal(cleanName('💨'.repeat(30)), '💨'.repeat(20))
  assert.equal(cleanName(' \n '), '')
  assert.deepEqual(['Ada Lovelace', 'Guest Otter', 'ŝu', ''].map(initialsOf), ['AL', 'O', 'Ŝ', ''])
})

test('a window that comes back to the very place that it showed last has its caret there', (t) => {
  const { open, time } = openRoom(t)
  const one = open('w1', 'Ada')
  const other = open('w2', 'Bob')
  one.select(0)
  one.type('Hello')
  hide(one, other)
  time.advance(5000)
  one.select(0)
  assert.deepEqual(other.carets(), ['w1 0'])
})
