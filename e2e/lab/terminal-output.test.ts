// What a run writes to a terminal and elsewhere, and how its table is aligned.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Progress, textTable } from './terminal-output.ts'

function written(isTTY: boolean): string {
  let text = ''
  const progress = new Progress({
    isTTY,
    write(part) {
      text += part
    },
  })
  progress.update('1 of 2')
  progress.say('Half.')
  progress.clear()
  return text
}

test('on a terminal one line changes and is replaced by sentences; elsewhere every line stays', () => {
  const clear = '\r\x1b[2K'
  assert.equal(written(true), `${clear}  1 of 2${clear}  Half.\n${clear}`)
  assert.equal(written(false), '  1 of 2\n  Half.\n')
})

test('columns of names are left-aligned, all others right-aligned', () => {
  const items = [
    { name: 'sse/2', note: 'a', count: 7 },
    { name: 'polling/1.1', note: 'bcd', count: 1200 },
  ]
  const table = textTable<(typeof items)[number]>(
    [
      ['Mode', ({ name }) => name],
      ['Note', ({ note }) => note],
      ['Count', ({ count }) => String(count)],
    ],
    items,
    2,
  )
  assert.deepEqual(table.split('\n'), [
    '  Mode         Note  Count',
    '  sse/2        a         7',
    '  polling/1.1  bcd    1200',
  ])
})
