// The first lines of a document: read once, never waited for long, and safe as HTML.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../protocol/messages.ts'
import type { Timers } from '../../protocol/time.ts'
import { type Documents, TooCostly } from '../../server/index.ts'
import type { PageTasks } from '../document/document-tasks.ts'
import { unlimitedDocuments } from '../document/page-tasks-testing.ts'
import { FirstLines, firstView } from './first-view.ts'

/** Lines are given as a document of an earlier version. */
const messagesWith = (html: string): Message[] => [
  { id: 'w-1', channel: 'main', from: 'w', kind: 'edit', at: 1, seq: 1, acceptedAt: 1, body: { html } },
]

/** Reads as `run` says. Time passes by `pass` alone. */
function open(run: () => Promise<string>) {
  let count = 0
  const waiting = new Set<() => void>()
  const timers: Timers = {
    now: () => 0,
    later(task) {
      waiting.add(task)
      return () => waiting.delete(task)
    },
  }
  const documents: Documents<PageTasks> = {
    ...unlimitedDocuments,
    run: () => {
      count += 1
      return run() as never
    },
    within: () => documents,
  }
  const lines = new FirstLines(timers)
  return {
    of: (channel: string, tag: string) => lines.of(channel, [], tag, documents),
    pass: () => {
      for (const task of waiting) task()
    },
    count: () => count,
    waiting,
  }
}

const linesOf = (html: string, maxCharacters: number) =>
  unlimitedDocuments.run('firstLines', messagesWith(html), maxCharacters)

test('a document is read once until it changes', async () => {
  const { of, count, waiting } = open(async () => `<p>${count()}</p>`)
  assert.equal(await of('a', 'one'), '<p>1</p>')
  assert.equal(await of('a', 'one'), '<p>1</p>')
  assert.equal(await of('b', 'one'), '<p>2</p>')
  assert.equal(await of('a', 'two'), '<p>3</p>')
  assert.equal(waiting.size, 0)
})

test('windows that open at once share one reading', async () => {
  const { of, count } = open(async () => '<p>text</p>')
  assert.deepEqual(await Promise.all([of('a', 'one'), of('a', 'one')]), ['<p>text</p>', '<p>text</p>'])
  assert.equal(count(), 1)
})

test('lines that take long are left out, and are there for the next page', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const { of, pass, count } = open(() => promise)
  const first = of('a', 'one')
  pass()
  assert.equal(await first, '')
  resolve('<p>text</p>')
  assert.equal(await of('a', 'one'), '<p>text</p>')
  assert.equal(count(), 1)
})

test('a document that is too costly is not read again, also when it has changed', async () => {
  const { of, count } = open(() => Promise.reject(new TooCostly('takes long')))
  assert.equal(await of('a', 'one'), '')
  assert.equal(await of('a', 'two'), '')
  assert.equal(count(), 1)
})

test('after another failure a document is read again', async () => {
  const { of, count } = open(() => Promise.reject(new Error('The thread ended.')))
  await of('a', 'one')
  await of('a', 'one')
  assert.equal(count(), 2)
})

test('of many documents those asked for last are kept', async () => {
  const { of, count } = open(async () => '<p>text</p>')
  for (let place = 0; place <= 200; place += 1) {
    await of(`d${place}`, 'one')
    await of('d0', 'one')
  }
  assert.equal(count(), 201)
  await of('d1', 'one')
  assert.equal(count(), 202)
})

test('whole lines are taken, as many as fit', async () => {
  const html = '<h1>Title</h1><p>one</p><p>two</p>'
  assert.equal(await linesOf(html, 24), '<h1>Title</h1>\n<p>one</p>')
  assert.equal(await linesOf(html, 23), '<h1>Title</h1>')
  assert.equal(await linesOf(html, 5), '')
  assert.equal(await linesOf(html, 1000), '<h1>Title</h1>\n<p>one</p>\n<p>two</p>')
})

test('aligned lines have no style, which the page’s policy denies', async () => {
  const lines = await linesOf('<p style="text-align: center">style="text-align: right"</p>', 1000)
  assert.equal(lines, '<p align="center">style=&quot;text-align: right&quot;</p>')
})

/** A writer's view without text. */
const view = { title: 'A title', mayWrite: true, view: 'write', lines: null, hasWind: false } as const

test('a title is text', () => {
  const html = firstView({ ...view, title: '<script>run()</script>' })
  assert.match(html, /&lt;script&gt;run\(\)&lt;\/script&gt;/)
  assert.doesNotMatch(html, /<script/)
})

test('readers get no tools, other views no text, and a server without a sensor no place for the wind', () => {
  const lines = '<p>text</p>'
  assert.match(firstView({ ...view, lines }), /toolbar.*<p>text<\/p>/)
  assert.doesNotMatch(firstView({ ...view, lines, mayWrite: false }), /toolbar/)
  assert.doesNotMatch(firstView(view), /document first-lines/)
  assert.match(firstView({ ...view, lines, hasWind: true }), /<aside/)
  assert.doesNotMatch(firstView({ ...view, lines }), /<aside/)
})
