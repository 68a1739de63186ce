import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import { createDocument, documentText, textOf } from '../../app/document/rich-text.ts'
import { toBase64 } from '../../protocol/base64.ts'
import { formatAuthor, Replay } from './replay.ts'

/** Two windows that type into one document; each change is an update in the log. */
function writers() {
  const docs = [createDocument(), createDocument()] as const
  const updates: { seq: number; from: string; acceptedAt: number; update: string }[] = []
  for (const [index, doc] of docs.entries())
    doc.on('update', (update: Uint8Array, origin: unknown) => {
      if (origin === 'log') return
      const seq = updates.length + 1
      updates.push({ seq, from: `w${index}`, acceptedAt: 1000 + seq, update: toBase64(update) })
      for (const other of docs) if (other !== doc) Y.applyUpdate(other, update, 'log')
    })
  return { texts: [documentText(docs[0]), documentText(docs[1])] as const, docs, updates }
}

const replayOf = (updates: ReturnType<typeof writers>['updates']) => {
  const replay = new Replay()
  replay.add({ base: null, updates, next: null })
  return replay
}

test('shows each version, in any order, with its time', () => {
  const { texts, updates } = writers()
  texts[0].insert(0, 'one\n')
  texts[1].insert(3, ' two')
  texts[0].delete(0, 4)
  const replay = replayOf(updates)
  assert.equal(replay.newest, 3)
  for (const [version, text] of [
    [3, 'two'],
    [0, ''],
    [2, 'one two'],
    [1, 'one'],
    [3, 'two'],
  ] as const)
    assert.equal(textOf(replay.show(version).lines), text)
  assert.deepEqual([replay.timeOf(0), replay.timeOf(3), replay.hasBase], [null, 1003, false])
})

test('a person’s updates without a long pause are one sitting, whoever else writes meanwhile', () => {
  const doc = createDocument()
  const minutes = 60_000
  const updates: ReturnType<typeof writers>['updates'] = []
  let from = ''
  let at = 0
  doc.on('update', (update: Uint8Array) => {
    updates.push({ seq: updates.length + 1, from, acceptedAt: at, update: toBase64(update) })
  })
  const write = (by: string, when: number) => {
    from = by
    at = when
    documentText(doc).insert(0, 'x')
  }
  for (let letter = 0; letter < 809; letter += 1) write('ada', letter * 200)
  write('bob', 809 * 200)
  write('ada', 4 * minutes)
  // All windows of a browser belong to one person.
  const key = 'k'.repeat(22)
  write(`${key}.w1`, 8 * minutes)
  write(`${key}.w2`, 9 * minutes)
  write('ada', 9 * minutes + 1)
  const replay = replayOf(updates)
  const told = replay.sittings().map(({ versions, from, to }) => [versions.length, versions[0], from, to])
  assert.deepEqual(told, [
    [1, 810, 809 * 200, 809 * 200],
    [810, 1, 0, 4 * minutes],
    [2, 812, 8 * minutes, 9 * minutes],
    [1, 814, 9 * minutes + 1, 9 * minutes + 1],
  ])
})

test('finds the version at a moment, or the nearest before it if its update is lost', () => {
  const { texts, updates } = writers()
  for (const word of ['one', 'two', 'three']) texts[0].insert(0, word)
  const replay = replayOf(updates)
  assert.deepEqual(
    [1000, 1001, 1002.5, 1003, 9999].map((at) => replay.versionAt(at)),
    [null, 1, 2, 3, 3],
  )
  const base = { seq: 1, from: 'w0', acceptedAt: 1001, update: updates[0]?.update ?? '' }
  const late = new Replay()
  late.add({ base, updates: updates.slice(1), next: null })
  assert.deepEqual(
    [1000, 1001, 1002].map((at) => late.versionAt(at)),
    [null, 0, 1],
  )
})

test('names the author of each piece, by chosen name or by window', () => {
  const { texts, docs, updates } = writers()
  docs[0].getMap('authors').set(String(docs[0].clientID), { name: 'Ada' })
  texts[0].insert(0, 'a c\n')
  texts[1].insert(2, 'b', { bold: true })
  const { lines, segments } = replayOf(updates).show(3)
  const [line] = lines
  assert.ok(line)
  const told = segments.get(line)?.map(({ author, runs }) => [author, runs.map(({ text }) => text).join('')])
  assert.deepEqual(told, [
    [{ window: 'w0', name: 'Ada' }, 'a '],
    [{ window: 'w1', name: '' }, 'b'],
    [{ window: 'w0', name: 'Ada' }, 'c'],
  ])
})

test('a version compared with an earlier one shows what was added, and by whom, and what was removed', () => {
  const { texts, docs, updates } = writers()
  docs[0].getMap('authors').set(String(docs[0].clientID), { name: 'Ada' })
  texts[0].insert(0, 'old words\n')
  texts[1].delete(0, 4)
  texts[1].insert(5, ' new')
  const replay = replayOf(updates)
  const { lines, segments } = replay.show(4, 2)
  const told = lines
    .flatMap((line) => segments.get(line) ?? [])
    .map(({ author, runs, isAdded, removed }) => [
      author?.window,
      removed,
      `${isAdded ? '+' : ''}${runs.map(({ text }) => text).join('')}`,
    ])
  assert.deepEqual(told, [
    ['w0', 'old ', 'words'],
    ['w1', '', '+ new'],
  ])
})

test('a program is called by the name that it sends under, a window is a guest until it chooses a name', () => {
  const { texts, docs, updates } = writers()
  docs[1].getMap('authors').set(String(docs[1].clientID), { name: 'Ada' })
  texts[0].insert(0, 'old')
  texts[1].insert(3, ' new')
  const namedBy = (from: string, version: number) => {
    const replay = replayOf(updates.map((one) => (one.from === 'w0' ? { ...one, from } : one)))
    const { lines, segments } = replay.show(version)
    const authors = lines.flatMap((line) => segments.get(line) ?? []).map(({ author }) => author)
    return [replay.authorOf(version), ...authors].map(formatAuthor)
  }
  assert.deepEqual(namedBy('seed', 2), ['seed', 'seed'])
  assert.deepEqual(namedBy('import.nightly', 3), ['Ada', 'import.nightly', 'Ada'])
  assert.deepEqual(namedBy('\u202e', 2), ['A program', 'A program'])
  const [author = '', ofText] = namedBy(`${'k'.repeat(22)}.w1`, 2)
  assert.match(author, /^Guest [A-Z][a-z]+$/)
  assert.equal(ofText, author)
  assert.deepEqual(namedBy('seed', 0), ['Earlier'])
})

test('starts with a base, whose text has no known window', () => {
  const { texts, docs, updates } = writers()
  texts[0].insert(0, 'old')
  const base = { seq: 1, from: 'w0', acceptedAt: 1001, update: toBase64(Y.encodeStateAsUpdate(docs[0])) }
  texts[1].insert(3, ' new')
  const replay = new Replay()
  replay.add({ base, updates: updates.slice(1), next: null })
  assert.deepEqual([replay.hasBase, replay.newest, replay.timeOf(0)], [true, 1, 1001])
  const { lines, segments } = replay.show(1)
  assert.deepEqual(
    lines.flatMap((line) => segments.get(line)?.map(({ author }) => author?.window)),
    [undefined, 'w1'],
  )
})

test('a jump in 30,000 updates applies a thousand of them at most', (t) => {
  const doc = createDocument()
  const updates: ReturnType<typeof writers>['updates'] = []
  doc.on('update', (update: Uint8Array) => {
    const seq = updates.length + 1
    updates.push({ seq, from: 'w0', acceptedAt: seq, update: toBase64(update) })
  })
  const text = documentText(doc)
  for (let letter = 0; letter < 30_000; letter += 1) text.insert(letter, letter % 60 === 59 ? '\n' : 'x')
  const replay = replayOf(updates)
  // Each update has one item, and a checkpoint joins those of one writer.
  const { mock } = t.mock.method(Y.Item.prototype, 'integrate')
  for (const version of [29_999, 1, 15_500, 14_999]) {
    mock.resetCalls()
    assert.equal(textOf(replay.show(version).lines).length, version)
    assert.ok(mock.callCount() <= 1010, `${mock.callCount()} items to version ${version}`)
  }
})
