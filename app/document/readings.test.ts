// Documents are read once until they change, never waited for long, and kept within bounds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../protocol/messages.ts'
import type { Timers } from '../../protocol/time.ts'
import { type Documents, TooCostly } from '../../server/index.ts'
import type { PageTasks, Reading } from './document-tasks.ts'
import { unlimitedDocuments } from './page-tasks-testing.ts'
import { Readings } from './readings.ts'

/** Lines are given as a document of an earlier version. */
const messagesWith = (html: string): Message[] => [
  { id: 'w-1', channel: 'main', from: 'w', kind: 'edit', at: 1, seq: 1, acceptedAt: 1, body: { html } },
]

/** Reads as `run` says. Time passes by `pass` alone. */
function open(run: () => Promise<Reading>) {
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
  const readings = new Readings({ snapshot: async () => assert.fail('the log is read') }, timers)
  return {
    of: (channel: string, seq: number) => readings.of(channel, seq, documents, 500, () => []),
    pass: () => {
      for (const task of waiting) task()
    },
    count: () => count,
    waiting,
  }
}

const reading = (text: string): Reading => ({ firstLines: '', heading: '', text, plainText: text })

const readingOf = (html: string) => unlimitedDocuments.run('readingOf', messagesWith(html))

test('a document is read once until it changes', async () => {
  const { of, count, waiting } = open(async () => reading(String(count())))
  const texts = []
  for (const [channel, seq] of [
    ['a', 1],
    ['a', 1],
    ['b', 1],
    ['a', 2],
    ['a', 1],
  ] as const)
    texts.push((await of(channel, seq))?.text)
  assert.deepEqual(texts, ['1', '1', '2', '3', '3'])
  assert.equal(waiting.size, 0)
})

test('requests at once share one reading', async () => {
  const { of, count } = open(async () => reading('text'))
  await Promise.all([of('a', 1), of('a', 1)])
  assert.equal(count(), 1)
})

test('a reading that takes long is not waited for, and is there for the next request', async () => {
  const { promise, resolve } = Promise.withResolvers<Reading>()
  const { of, pass, count } = open(() => promise)
  const first = of('a', 1)
  pass()
  assert.equal(await first, null)
  resolve(reading('text'))
  assert.equal((await of('a', 1))?.text, 'text')
  assert.equal(count(), 1)
})

test('a document that is too costly is not read again, also when it has changed', async () => {
  const { of, count } = open(() => Promise.reject(new TooCostly('takes long')))
  assert.equal(await of('a', 1), null)
  assert.equal(await of('a', 2), null)
  assert.equal(count(), 1)
})

test('after another failure a document is read again', async () => {
  const { of, count } = open(() => Promise.reject(new Error('The thread ended.')))
  await of('a', 1)
  await of('a', 1)
  assert.equal(count(), 2)
})

test('of many long documents those asked for last are kept', async () => {
  const { of, count } = open(async () => reading('x'.repeat(100_000)))
  for (let place = 0; place <= 80; place += 1) {
    await of(`d${place}`, 1)
    await of('d0', 1)
  }
  assert.equal(count(), 81)
  await of('d1', 1)
  assert.equal(count(), 82)
})

test('the first lines are whole, and have no style, which the page’s policy denies', async () => {
  const lines = async (html: string) => (await readingOf(html)).firstLines
  assert.equal(await lines('<h1>Title</h1><p>one</p><p>two</p>'), '<h1>Title</h1>\n<p>one</p>\n<p>two</p>')
  const long = `<p>${'x'.repeat(5900)}</p>`
  assert.equal(await lines(`<h1>Title</h1>${long}<p>two</p>${long}`), `<h1>Title</h1>\n${long}\n<p>two</p>`)
  assert.equal(
    await lines('<p style="text-align: center">style="text-align: right"</p>'),
    '<p align="center">style=&quot;text-align: right&quot;</p>',
  )
})

test('the first heading is the title, and the text can be searched', async () => {
  const { heading, text, plainText } = await readingOf('<p>x</p><h2> </h2><h2>A <b>Señor</b></h2><h1>B</h1>')
  assert.equal(heading, 'A Señor')
  assert.match(text, /Señor\nB$/)
  assert.match(plainText, /senor\nb$/)
  assert.equal((await readingOf('<p>x</p>')).heading, '')
})
