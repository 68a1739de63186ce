import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../server/wire/envelope.ts'
import { createSeededRandom } from '../../server/wire/random.ts'
import { createMirror } from './mirror.ts'

function edit(from: string, n: number, seq: number, html: string): Message<'edit'> {
  return {
    id: `${from}-${n}`,
    channel: 'main',
    kind: 'edit',
    from,
    at: 0,
    acceptedAt: 0,
    seq,
    body: { html },
  }
}

test('shows what others send', () => {
  assert.equal(createMirror().received(edit('b', 1, 1, 'x')), 'x')
})

test('its own echo changes nothing', () => {
  const mirror = createMirror()
  mirror.edited('a-1')
  assert.equal(mirror.received(edit('a', 1, 1, 'x')), null)
})

test('holds others back while its own is under way, for its own comes later in the log', () => {
  const mirror = createMirror()
  mirror.edited('a-1')
  assert.equal(mirror.received(edit('b', 1, 1, 'theirs')), null)
  assert.equal(mirror.received(edit('a', 1, 2, 'mine')), null)
  assert.equal(mirror.received(edit('b', 2, 3, 'later')), 'later')
})

test('an acknowledgement older than what was held back gives way to it', () => {
  const mirror = createMirror()
  mirror.edited('a-1')
  mirror.received(edit('b', 1, 9, 'newer'))
  assert.equal(mirror.stored('a-1', 5), 'newer')
})

test('an edit that will not come does not hold others back for ever', () => {
  const mirror = createMirror()
  mirror.edited('a-1')
  mirror.withdrawn('a-1')
  assert.equal(mirror.received(edit('b', 1, 1, 'x')), 'x')
})

test('what the stream brings after an acknowledgement that overtook it is older than what is shown', () => {
  const mirror = createMirror()
  mirror.edited('a-1')
  mirror.stored('a-1', 9)
  assert.equal(mirror.received(edit('b', 1, 8, 'older')), null)
  assert.equal(mirror.received(edit('b', 2, 10, 'newer')), 'newer')
})

test('another log has numbers of its own', () => {
  const mirror = createMirror()
  mirror.edited('a-1')
  mirror.stored('a-1', 900)
  mirror.newLog()
  assert.equal(mirror.received(edit('b', 1, 1, 'anew')), 'anew')
})

test('windows that type at once end with the log’s last edit, however echoes and acknowledgements fall', () => {
  const random = createSeededRandom(2021)
  for (let round = 0; round < 300; round += 1) checkRound(random)
})

/** Three windows; each has a queue of what the log still has to tell it, taken in random turns. */
function checkRound(random: () => number): void {
  const pick = (n: number) => Math.floor(random() * n)
  const windows = ['a', 'b', 'c'].map((name) => ({
    name,
    mirror: createMirror(),
    shown: '',
    sent: 0,
    inbox: [] as (() => void)[],
  }))
  let seq = 0
  let last = ''
  const show = (window: { shown: string }, html: string | null) => {
    if (html !== null) window.shown = html
  }
  const uplinks: (() => void)[][] = windows.map(() => [])
  for (let step = 0; step < 60; step += 1) {
    const index = pick(3)
    const author = windows[index]
    const uplink = uplinks[index]
    if (!author || !uplink) continue
    const action = pick(3)
    if (action === 0 && step < 40) {
      author.sent += 1
      const n = author.sent
      const html = `${author.name}${n}`
      author.shown = html
      author.mirror.edited(`${author.name}-${n}`)
      uplink.push(() => {
        seq += 1
        last = html
        const message = edit(author.name, n, seq, html)
        for (const window of windows) window.inbox.push(() => show(window, window.mirror.received(message)))
        const at = pick(author.inbox.length + 1)
        author.inbox.splice(at, 0, () => show(author, author.mirror.stored(message.id, message.seq)))
      })
    } else if (action === 1) uplink.shift()?.()
    else author.inbox.shift()?.()
  }
  for (const uplink of uplinks) for (const send of uplink) send()
  for (const window of windows) for (const take of window.inbox) take()
  assert.deepEqual(
    windows.map(({ shown }) => shown),
    [last, last, last],
  )
}
