// Windows that reload with edits under way: what was typed is shown at once, sent again, and all end alike.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Draft, Message } from '../../server/wire/envelope.ts'
import { createSeededRandom } from '../../server/wire/random.ts'
import { createMirror } from './mirror.ts'

const draft = (id: string): Draft<'edit'> => ({
  id,
  channel: 'main',
  kind: 'edit',
  from: id.slice(0, 1),
  at: 0,
  body: { html: id },
})

/** The log takes each id once, and answers again with the number that it gave. */
function createModelLog() {
  const messages: Message<'edit'>[] = []
  const publish = (one: Draft<'edit'>) => {
    const known = messages.find(({ id }) => id === one.id)
    if (!known) messages.push({ ...one, seq: messages.length + 1, acceptedAt: 0 })
    return known?.seq ?? messages.length
  }
  return { messages, publish }
}

function createModelWindow(name: string, log: ReturnType<typeof createModelLog>) {
  let mirror = createMirror()
  let outbox: Draft<'edit'>[] = []
  let acknowledgements: { id: string; seq: number }[] = []
  let [typed, sent, received] = [0, 0, 0]
  let shown = ''
  const show = (html: string | null) => {
    shown = html ?? shown
  }
  return {
    shown: () => shown,
    isDone: () => outbox.length === 0 && received === log.messages.length,
    type() {
      typed += 1
      const own = draft(`${name}${typed}`)
      shown = own.body.html
      outbox.push(own)
      mirror.edited(own.id)
    },
    send() {
      const next = outbox[sent]
      if (!next) return
      sent += 1
      acknowledgements.push({ id: next.id, seq: log.publish(next) })
    },
    acknowledge() {
      const answer = acknowledgements.shift()
      if (!answer) return
      outbox = outbox.filter(({ id }) => id !== answer.id)
      sent -= 1
      show(mirror.stored(answer.id, answer.seq))
    },
    receive() {
      const message = log.messages[received]
      if (!message) return
      received += 1
      show(mirror.received(message))
    },
    /** The page brings the newest edit; the acknowledgements that were on their way are lost. */
    reload() {
      mirror = createMirror()
      acknowledgements = []
      sent = 0
      received = log.messages.length
      shown = ''
      show(mirror.restored(outbox))
      const newest = log.messages.at(-1)
      if (newest) show(mirror.received(newest))
    },
  }
}

test('a reloaded window shows its newest unsent edit at once, over what the page brought', () => {
  const mirror = createMirror()
  assert.equal(mirror.restored([draft('a1'), draft('a2')]), 'a2')
  assert.equal(mirror.received({ ...draft('b1'), seq: 7, acceptedAt: 0 }), null)
  assert.equal(mirror.stored('a1', 8), null)
  assert.equal(mirror.stored('a2', 9), null)
  assert.equal(mirror.received({ ...draft('b2'), seq: 10, acceptedAt: 0 }), 'b2')
})

test('what had been stored before the reload gives way to what others wrote after it', () => {
  const mirror = createMirror()
  mirror.restored([draft('a1')])
  mirror.received({ ...draft('b1'), seq: 7, acceptedAt: 0 })
  assert.equal(mirror.stored('a1', 5), 'b1')
})

test('nothing to restore shows nothing', () => {
  assert.equal(createMirror().restored([]), null)
})

test('however they type, reload and hear of it, windows end alike, with every edit in the log', () => {
  const random = createSeededRandom(7)
  const pick = (n: number) => Math.floor(random() * n)
  for (let round = 0; round < 300; round += 1) {
    const log = createModelLog()
    const windows = ['a', 'b', 'c'].map((name) => createModelWindow(name, log))
    let typed = 0
    for (let step = 0; step < 80; step += 1) {
      const window = windows[pick(3)] ?? assert.fail()
      const action = pick(9)
      if (action === 0) window.reload()
      else if (action <= 2) window.type()
      else if (action <= 4) window.send()
      else if (action <= 6) window.acknowledge()
      else window.receive()
      if (action === 1 || action === 2) typed += 1
    }
    while (!windows.every(({ isDone }) => isDone())) {
      const window = windows[pick(3)] ?? assert.fail()
      const turns = [window.send, window.acknowledge, window.receive]
      turns[pick(3)]?.()
    }
    const last = log.messages.at(-1)?.body.html ?? ''
    assert.deepEqual(
      windows.map(({ shown }) => shown()),
      [last, last, last],
    )
    assert.equal(log.messages.length, typed)
  }
})
