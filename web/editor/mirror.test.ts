// What windows show while they type at once, reload and lose acknowledgements; all converge.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UnstoredDraft } from '../../client/engine.ts'
import type { Draft, Message } from '../../server/wire/messages.ts'
import { createSeededRandom } from '../../server/wire/time.ts'
import type { Unshared } from '../store.ts'
import type { OnEdit } from './content.ts'
import { fateOf, LeftEdits, Mirror } from './mirror.ts'

function draftOf(from: string, n: number, html: string): Draft<'edit'> {
  return { id: `${from}-${n}`, channel: 'main', kind: 'edit', from, at: 0, body: { html } }
}

function edit(from: string, n: number, seq: number, html: string): Message<'edit'> {
  return { ...draftOf(from, n, html), seq, acceptedAt: 0 }
}

/** The window `from`: what it shows, and the drafts it published. */
function createWindow(from = 'a') {
  let sent = 0
  let shown = ''
  let unshared: Unshared | null = null
  const replaced: string[] = []
  const drafts: Draft<'edit'>[] = []
  let onEdit: OnEdit = () => assert.fail('the editor is not mounted')

  function publish(_channel: string, _kind: string, body: object) {
    sent += 1
    const draft = draftOf(from, sent, (body as Draft<'edit'>['body']).html)
    drafts.push(draft)
    return draft as Draft<never>
  }

  function mount(): Mirror {
    const mirror = new Mirror({
      channel: 'main',
      link: { publish, cursor: null, outbox: { flush: () => undefined } },
      keeper: { adopt: () => undefined },
      store: { write: async () => true },
      hasUnstored: () => false,
      recorder: null,
      maxBytes: 1000,
      onUnshared(now) {
        unshared = now
      },
      onOffer: (edits) => void replaced.push(...edits.map(({ id }) => id)),
    })
    mirror.attach((bound) => {
      onEdit = bound
      return {
        show(html, onShown) {
          shown = html
          onShown?.()
        },
        stop: () => shown,
      }
    })
    return mirror
  }

  const window = {
    mirror: mount(),
    replaced,
    shown: () => shown,
    unshared: () => unshared,
    drafts: () => drafts,
    type(html: string) {
      shown = html
      onEdit(html, null)
    },
    /** Reloads with these drafts unsent; the page is empty until something arrives. */
    reload(unsent: readonly Draft<'edit'>[]) {
      shown = ''
      window.mirror = mount()
      window.mirror.restore(unsent)
    },
  }
  return window
}

/** A window in which `mine` was typed and is in flight as `a-1`. */
function typing() {
  const window = createWindow()
  window.type('mine')
  return window
}

test("shows other senders' edits", () => {
  const { mirror, shown } = createWindow()
  mirror.received(edit('b', 1, 1, 'x'))
  assert.equal(shown(), 'x')
  mirror.received({ ...edit('b', 2, 2, 'y'), channel: 'other' })
  assert.equal(shown(), 'x')
})

test('its own echo changes nothing', () => {
  const { mirror, shown } = typing()
  mirror.received(edit('a', 1, 1, 'as the log has it'))
  assert.equal(shown(), 'mine')
})

test('treats another sender’s edit under its own id as another’s', () => {
  const { mirror, shown } = typing()
  mirror.received({ ...edit('b', 1, 1, 'theirs'), id: 'a-1' })
  mirror.received(edit('b', 2, 2, 'held back too'))
  mirror.received(edit('a', 1, 3, 'mine'))
  assert.equal(shown(), 'mine')
  mirror.received({ ...edit('b', 3, 4, 'later'), id: 'a-1' })
  assert.equal(shown(), 'later')
})

test('holds back other edits while its own is in flight, since its own comes later in the log', () => {
  const { mirror, shown } = typing()
  mirror.received(edit('b', 1, 1, 'theirs'))
  mirror.received(edit('a', 1, 2, 'mine'))
  assert.equal(shown(), 'mine')
  mirror.received(edit('b', 2, 3, 'later'))
  assert.equal(shown(), 'later')
})

test('an acknowledgement older than a held-back edit gives way to it', () => {
  const { mirror, shown } = typing()
  mirror.received(edit('b', 1, 9, 'newer'))
  assert.equal(shown(), 'mine')
  mirror.stored({ id: 'a-1' }, 5)
  assert.equal(shown(), 'newer')
})

for (const end of ['refused', 'superseded'] as const) {
  test(`an edit that was ${end} stops holding others back`, () => {
    const { mirror, shown } = typing()
    mirror[end]({ id: 'a-1' })
    assert.equal(shown(), 'mine')
    mirror.received(edit('b', 1, 1, 'x'))
    assert.equal(shown(), 'x')
  })
}

test('an edit resent under another id holds others back under that id', () => {
  const { mirror, shown } = typing()
  mirror.renamed('a-1', draftOf('a', 7, 'mine'))
  mirror.received(edit('b', 1, 1, 'theirs'))
  assert.equal(shown(), 'mine')
  mirror.received(edit('a', 7, 2, 'mine'))
  mirror.received(edit('b', 2, 3, 'later'))
  assert.equal(shown(), 'later')
})

test('edits from the stream that an acknowledgement overtook are older than what is shown', () => {
  const { mirror, shown } = typing()
  mirror.stored({ id: 'a-1' }, 9)
  mirror.received(edit('b', 1, 8, 'older'))
  assert.equal(shown(), 'mine')
  mirror.received(edit('b', 2, 10, 'newer'))
  assert.equal(shown(), 'newer')
})

test('sequence numbers of another log are unrelated', () => {
  const { mirror, shown } = typing()
  mirror.stored({ id: 'a-1' }, 900)
  mirror.newLog()
  mirror.received(edit('b', 1, 1, 'anew'))
  assert.equal(shown(), 'anew')
})

test('content that is too large holds others back until the user undoes it', () => {
  const { mirror, shown, type, unshared } = createWindow()
  mirror.received(edit('b', 1, 1, 'before'))
  const large = 'x'.repeat(600)
  type(large)
  assert.deepEqual(unshared(), { reason: 'too large', bytes: 602 + 512, maxBytes: 1000 })
  mirror.received(edit('b', 2, 2, 'theirs'))
  assert.equal(shown(), large)
  type('before')
  assert.deepEqual([unshared(), shown()], [null, 'theirs'])
})

test("a reloaded window shows its newest unsent edit at once, over the page's embedded content", () => {
  const window = createWindow()
  window.reload([draftOf('a', 1, 'a1'), draftOf('a', 2, 'a2')])
  const { mirror, shown } = window
  assert.equal(shown(), 'a2')
  mirror.received(edit('b', 1, 7, 'b1'))
  mirror.stored({ id: 'a-1' }, 8)
  mirror.stored({ id: 'a-2' }, 9)
  assert.equal(shown(), 'a2')
  mirror.received(edit('b', 2, 10, 'b2'))
  assert.equal(shown(), 'b2')
})

test('an edit that was stored before the reload gives way to later edits by others', () => {
  const window = createWindow()
  window.reload([draftOf('a', 1, 'a1')])
  const { mirror, shown } = window
  mirror.received(edit('b', 1, 7, 'b1'))
  mirror.stored({ id: 'a-1' }, 5)
  assert.equal(shown(), 'b1')
})

test('restoring no drafts shows nothing', () => {
  const window = createWindow()
  window.reload([])
  assert.equal(window.shown(), '')
})

test('a remounted editor shows the previous content', () => {
  const { mirror } = createWindow()
  const shown: string[] = []
  const bind = () => ({ show: (html: string) => void shown.push(html), stop: () => 'as it was' })
  mirror.attach(bind)()
  const letGo = mirror.attach(bind)
  assert.deepEqual(shown, ['as it was'])
  letGo()
  mirror.received(edit('b', 1, 1, 'while none was mounted'))
  mirror.attach(bind)
  assert.deepEqual(shown, ['as it was', 'while none was mounted'])
})

test('windows that type at once end with the log’s last edit, however echoes and acknowledgements arrive', () => {
  const random = createSeededRandom(2021)
  for (let round = 0; round < 300; round += 1) checkTyping(random)
})

/** Three windows; each has a queue of log messages still to come, delivered in random turns. */
function checkTyping(random: () => number): void {
  const pick = (n: number) => Math.floor(random() * n)
  const windows = ['a', 'b', 'c'].map((name) => ({
    name,
    ...createWindow(name),
    typed: 0,
    uplink: [] as (() => void)[],
    inbox: [] as (() => void)[],
  }))
  let seq = 0
  let last = ''
  for (let step = 0; step < 60; step += 1) {
    const author = windows[pick(3)] ?? assert.fail()
    const action = pick(3)
    if (action === 0 && step < 40) {
      author.typed += 1
      author.type(`${author.name}${author.typed}`)
      const draft = author.drafts().at(-1) ?? assert.fail()
      author.uplink.push(() => {
        seq += 1
        last = draft.body.html
        const message = { ...draft, seq, acceptedAt: 0 }
        for (const { inbox, mirror } of windows) inbox.push(() => mirror.received(message))
        const at = pick(author.inbox.length + 1)
        author.inbox.splice(at, 0, () => author.mirror.stored(message, message.seq))
      })
    } else if (action === 1) author.uplink.shift()?.()
    else author.inbox.shift()?.()
  }
  for (const { uplink } of windows) for (const send of uplink) send()
  for (const { inbox } of windows) for (const take of inbox) take()
  assert.deepEqual(
    windows.map(({ shown }) => shown()),
    [last, last, last],
  )
}

/** The log stores each id once, and repeats its number on a second try. */
function createModelLog() {
  const messages: Message<'edit'>[] = []
  const publish = (draft: Draft<'edit'>) => {
    const known = messages.find(({ id }) => id === draft.id)
    if (!known) messages.push({ ...draft, seq: messages.length + 1, acceptedAt: 0 })
    return known?.seq ?? messages.length
  }
  return { messages, publish }
}

function createReloadingWindow(name: string, log: ReturnType<typeof createModelLog>) {
  const window = createWindow(name)
  let acknowledgements: { id: string; seq: number }[] = []
  let unsent: Draft<'edit'>[] = []
  let typed = 0
  let sent = 0
  let received = 0
  return {
    shown: window.shown,
    isDone: () => unsent.length === 0 && received === log.messages.length,
    type() {
      typed += 1
      window.type(`${name}${typed}`)
      unsent.push(window.drafts().at(-1) ?? assert.fail())
    },
    send() {
      const next = unsent[sent]
      if (!next) return
      sent += 1
      acknowledgements.push({ id: next.id, seq: log.publish(next) })
    },
    acknowledge() {
      const answer = acknowledgements.shift()
      if (!answer) return
      unsent = unsent.filter(({ id }) => id !== answer.id)
      sent -= 1
      window.mirror.stored(answer, answer.seq)
    },
    receive() {
      const message = log.messages[received]
      if (!message) return
      received += 1
      window.mirror.received(message)
    },
    /** The page embeds the newest edit; acknowledgements in flight are lost. */
    reload() {
      acknowledgements = []
      sent = 0
      received = log.messages.length
      window.reload(unsent)
      const newest = log.messages.at(-1)
      if (newest) window.mirror.received(newest)
    },
  }
}

test('windows converge however they type, reload and receive, with every edit in the log', () => {
  const random = createSeededRandom(7)
  const pick = (n: number) => Math.floor(random() * n)
  for (let round = 0; round < 300; round += 1) {
    const log = createModelLog()
    const windows = ['a', 'b', 'c'].map((name) => createReloadingWindow(name, log))
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

/**
 * `a` typed "mine 😀" into its own paragraph, which was stored; then `b` sends `html`, typed `at`.
 */
function replacedBy(html: string, at = 0): readonly string[] {
  const { mirror, type, replaced } = createWindow()
  mirror.received(edit('b', 1, 1, '<p>one</p><p>two</p>'))
  type('<p>one mine</p><p>two</p>')
  type('<p>one mine 😀</p><p>two</p>')
  mirror.stored({ id: 'a-1' }, 2)
  mirror.stored({ id: 'a-2' }, 3)
  mirror.received({ ...edit('b', 2, 4, html), at })
  return replaced
}

test('offers its stored edit if another edit, made without it, replaces it', () => {
  assert.deepEqual(replacedBy('<p>one</p><p>two theirs</p>'), ['a-2'])
  assert.deepEqual(replacedBy('<p>one</p><p>two</p>', 3000), ['a-2'])
  assert.deepEqual(replacedBy('<p>one mine</p><p>two</p>', 1000), ['a-2'])
})

test("an edit that contains this window's text replaces nothing, whatever else it changes", () => {
  for (const html of [
    '<p>one mine 😀</p><p>two theirs</p>',
    '<h2>one mine 😀</h2><p>two</p>',
    '<p>one mi<b>theirs</b>ne 😀</p><p>two</p>',
  ])
    assert.deepEqual(replacedBy(html), [], html)
})

test('an edit made long after this one arrived may have removed it on purpose', () => {
  assert.deepEqual(replacedBy('<p>one</p><p>two</p>', 3001), [])
})

test('only text typed since another’s edit was shown can be replaced, and only once', () => {
  const { mirror, type, replaced } = createWindow()
  type('<p>mine</p>')
  mirror.stored({ id: 'a-1' }, 1)
  mirror.received(edit('b', 1, 2, '<p>mine theirs</p>'))
  mirror.received(edit('b', 2, 3, '<p>theirs</p>'))
  assert.deepEqual(replaced, [])
  type('<p>theirs again</p>')
  mirror.stored({ id: 'a-2' }, 4)
  mirror.received(edit('b', 3, 5, '<p>theirs!</p>'))
  mirror.received(edit('b', 4, 6, '<p>theirs!!</p>'))
  assert.deepEqual(replaced, ['a-2'])
})

// Edits that are not shown

function draft(n: number, change: Partial<Draft<'edit'>> = {}): Draft<'edit'> {
  return {
    id: `w1-${n}`,
    channel: 'main',
    kind: 'edit',
    from: 'w1',
    at: n,
    body: { html: `${n}` },
    ...change,
  }
}

const left = (...numbers: readonly number[]): UnstoredDraft[] =>
  numbers.map((n) => ({ draft: draft(n), cursor: 'life:5', edits: 1 }))

const newest = (seq: number, change: Partial<Message<'edit'>> = {}): Message<'edit'> => ({
  ...draft(9, { id: 'w7-1', from: 'w7' }),
  seq,
  acceptedAt: 0,
  ...change,
})

function openLeftEdits({ unstored = false, replaced = true } = {}) {
  const sent: string[] = []
  const restored: string[] = []
  const forgotten: string[] = []
  let offered: readonly string[] = []
  const edits = new LeftEdits({
    mirror: {
      restore: (drafts) => void restored.push(...drafts.map(({ id }) => id)),
      replace: (html) => replaced && restored.push(html) > 0,
    },
    link: { cursor: 'life:8', outbox: { flush: () => undefined } },
    keeper: { adopt: (drafts) => void sent.push(...drafts.map(({ draft: { id } }) => id)) },
    store: {
      async write(_added, removed) {
        forgotten.push(...removed)
        return true
      },
    },
    hasUnstored: () => unstored,
    onOffer(edits) {
      offered = edits.map(({ id }) => id)
    },
  })
  return { edits, sent, restored, forgotten, offered: () => offered }
}

test('after a reload, sends every edit in order and shows the newest', () => {
  const { edits, sent, restored, forgotten } = openLeftEdits()
  edits.shown(newest(7))
  edits.take({ drafts: left(1, 2, 3), isReload: true })
  assert.deepEqual([sent, restored, forgotten], [['w1-1', 'w1-2', 'w1-3'], sent, []])
})

test('sends only the newest edit of a closed window if the page is unchanged', () => {
  const { edits, sent, forgotten } = openLeftEdits()
  edits.shown(newest(5))
  edits.take({ drafts: left(1, 2, 3), isReload: false })
  assert.deepEqual([sent, forgotten], [['w1-3'], ['w1-1', 'w1-2']])
})

test('offers an edit if the page has changed or the user has begun to write', () => {
  for (const [message, unstored, isReload] of [
    [newest(7), false, false],
    [newest(5), true, false],
    [newest(5), true, true],
  ] as const) {
    const { edits, sent, offered } = openLeftEdits({ unstored })
    edits.shown(message)
    edits.take({ drafts: left(1, 2), isReload })
    assert.deepEqual([sent, offered()], [[], ['w1-2']])
  }
})

test('offers several edits oldest first, even if one alone would have been sent', () => {
  const { edits, sent, offered } = openLeftEdits()
  edits.shown(newest(7))
  edits.take({ drafts: left(4), isReload: false })
  edits.shown(newest(5))
  edits.take({ drafts: left(3), isReload: false })
  assert.deepEqual([sent, offered()], [[], ['w1-3', 'w1-4']])
})

test('keeps an offered edit until it is restored or discarded', () => {
  for (const [act, becomes] of [
    ['restore', ['2']],
    ['discard', []],
  ] as const) {
    const { edits, restored, forgotten, offered } = openLeftEdits()
    edits.shown(newest(7))
    edits.take({ drafts: left(2), isReload: false })
    assert.deepEqual(forgotten, [])
    edits[act]('w1-2')
    assert.deepEqual([restored, forgotten, offered()], [becomes, ['w1-2'], []])
  }
})

test('keeps offering an edit that could not be published', () => {
  const { edits, forgotten, offered } = openLeftEdits({ replaced: false })
  edits.shown(newest(7))
  edits.take({ drafts: left(2), isReload: false })
  edits.restore('w1-2')
  assert.deepEqual([forgotten, offered()], [[], ['w1-2']])
})

test('offers the newest replaced edit beside those of closed windows', () => {
  const { edits, restored, offered } = openLeftEdits()
  edits.shown(newest(7))
  edits.take({ drafts: left(1), isReload: false })
  edits.replaced(draft(3))
  edits.replaced(draft(5))
  assert.deepEqual(offered(), ['w1-1', 'w1-5'])
  edits.restore('w1-5')
  assert.deepEqual([restored, offered()], [['5'], ['w1-1']])
})

test('forgets edits that the page contains', () => {
  const { edits, sent, forgotten, offered } = openLeftEdits()
  edits.shown(newest(6, { id: 'w1-2', from: 'w1' }))
  edits.take({ drafts: left(1, 2), isReload: false })
  assert.deepEqual([sent, forgotten, offered()], [[], ['w1-1', 'w1-2'], []])
})

test('ignores updates of a shared document', () => {
  const { edits, sent, forgotten, offered } = openLeftEdits()
  const update = { ...draft(1), kind: 'update' as const, body: { update: 'AAA=' } }
  edits.take({ drafts: [{ draft: update, cursor: null, edits: 1 }], isReload: true })
  assert.deepEqual([sent, forgotten, offered()], [[], [], []])
})

for (const [what, message, now, fate] of [
  ['on an empty page', null, 'life:0', 'send'],
  ['on an empty page of a new log', null, 'other:0', 'send'],
  ['on the page as it was', newest(4), 'life:8', 'send'],
  ['after an older edit of the same window', newest(6, { from: 'w1', id: 'w1-1' }), 'life:8', 'send'],
  ['when it had been stored after all', newest(6, { id: 'w1-2' }), 'life:8', 'drop'],
  ['when the page says the same', newest(6, { body: { html: '2' } }), 'life:8', 'drop'],
  ['when others have written since', newest(6), 'life:8', 'ask'],
  ['in another log, whose numbers are unrelated', newest(2), 'other:8', 'ask'],
] as const) {
  test(`an edit of a closed window, ${what}: ${fate}`, () => {
    assert.equal(fateOf({ draft: draft(2), cursor: 'life:5' }, message, now), fate)
  })
}

test('asks about an edit of a window that never connected, unless the page is empty', () => {
  assert.equal(fateOf({ draft: draft(2), cursor: null }, newest(1), 'life:8'), 'ask')
})
