// What becomes of a whole-page edit that a closed window left unsent.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UnstoredDraft } from '../../client/index.ts'
import type { Draft, Message } from '../../server/wire/messages.ts'
import { fateOf, LeftEdits } from './left-edits.ts'

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
    link: {
      cursor: 'life:8',
      outbox: {
        adopt: (drafts) => void sent.push(...drafts.map(({ draft: { id } }) => id)),
        flush: () => undefined,
      },
    },
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

test('after a reload all go out, in order, and the newest shows', () => {
  const { edits, sent, restored, forgotten } = openLeftEdits()
  edits.shown(newest(7))
  edits.take({ drafts: left(1, 2, 3), isReload: true })
  assert.deepEqual([sent, restored, forgotten], [['w1-1', 'w1-2', 'w1-3'], sent, []])
})

test('of a closed window the newest goes out, on the page as it was', () => {
  const { edits, sent, forgotten } = openLeftEdits()
  edits.shown(newest(5))
  edits.take({ drafts: left(1, 2, 3), isReload: false })
  assert.deepEqual([sent, forgotten], [['w1-3'], ['w1-1', 'w1-2']])
})

test('where the page has changed, or the user has begun to write, it is offered', () => {
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

test('several are offered, oldest first, even where one alone would have been sent', () => {
  const { edits, sent, offered } = openLeftEdits()
  edits.shown(newest(7))
  edits.take({ drafts: left(4), isReload: false })
  edits.shown(newest(5))
  edits.take({ drafts: left(3), isReload: false })
  assert.deepEqual([sent, offered()], [[], ['w1-3', 'w1-4']])
})

test('an offered edit is kept until it is restored or discarded', () => {
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

test('an edit that could not be published stays on offer', () => {
  const { edits, forgotten, offered } = openLeftEdits({ replaced: false })
  edits.shown(newest(7))
  edits.take({ drafts: left(2), isReload: false })
  edits.restore('w1-2')
  assert.deepEqual([forgotten, offered()], [[], ['w1-2']])
})

test('of replaced edits the newest is offered, beside what closed windows left', () => {
  const { edits, restored, offered } = openLeftEdits()
  edits.shown(newest(7))
  edits.take({ drafts: left(1), isReload: false })
  edits.replaced(draft(3))
  edits.replaced(draft(5))
  assert.deepEqual(offered(), ['w1-1', 'w1-5'])
  edits.restore('w1-5')
  assert.deepEqual([restored, offered()], [['5'], ['w1-1']])
})

test('what the page contains is forgotten', () => {
  const { edits, sent, forgotten, offered } = openLeftEdits()
  edits.shown(newest(6, { id: 'w1-2', from: 'w1' }))
  edits.take({ drafts: left(1, 2), isReload: false })
  assert.deepEqual([sent, forgotten, offered()], [[], ['w1-1', 'w1-2'], []])
})

test('updates of a shared document are none of its business', () => {
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
  ['when it had been stored all the same', newest(6, { id: 'w1-2' }), 'life:8', 'drop'],
  ['when the page says the same', newest(6, { body: { html: '2' } }), 'life:8', 'drop'],
  ['when others have written since', newest(6), 'life:8', 'ask'],
  ['in another log, whose numbers say nothing', newest(2), 'other:8', 'ask'],
] as const) {
  test(`an edit that was left: ${what}: ${fate}`, () => {
    assert.equal(fateOf({ draft: draft(2), cursor: 'life:5' }, message, now), fate)
  })
}

test('where its window had never been connected, it is asked about on any page that is not empty', () => {
  assert.equal(fateOf({ draft: draft(2), cursor: null }, newest(1), 'life:8'), 'ask')
})
