// A run's output on a terminal and elsewhere, and the alignment of its table.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Progress, textTable } from './terminal-output.ts'

/** A terminal that understands the output of `Progress`. */
function fakeTerminal(columns: number, rows = 24) {
  let lines: string[] = ['']
  let row = 0
  let column = 0
  let writes = 0
  function put(character: string): void {
    if (column === columns) {
      row += 1
      column = 0
    }
    const line = (lines[row] ?? '').padEnd(column)
    lines[row] = line.slice(0, column) + character + line.slice(column + 1)
    column += 1
  }
  return {
    isTTY: true,
    columns,
    rows,
    write(text: string) {
      writes += 1
      for (const [part, up] of text.replaceAll('\x1b', '␛').matchAll(/␛\[(\d*)[A-Z]|[^␛]/g)) {
        if (part === '\r') column = 0
        else if (part === '\n') {
          row += 1
          column = 0
          lines[row] ??= ''
        } else if (part.endsWith('A') && part.startsWith('␛')) row = Math.max(0, row - Number(up))
        else if (part === '␛[K') lines[row] = (lines[row] ?? '').slice(0, column)
        else if (part === '␛[J') lines = [...lines.slice(0, row), (lines[row] ?? '').slice(0, column)]
        else if (part.startsWith('␛')) assert.fail(`unknown sequence ${JSON.stringify(part)}`)
        else put(part)
      }
    },
    shown: () => lines,
    cursor: () => [row, column],
    writes: () => writes,
  }
}

test('lines change in place, each time in one write, and sentences scroll above them', () => {
  const terminal = fakeTerminal(40)
  const progress = new Progress(terminal)
  progress.show(['  table', '  a row', '  1 of 2'])
  progress.show(['  table', '  row', '  2 of 2'])
  assert.deepEqual(terminal.shown(), ['  table', '  row', '  2 of 2'])
  progress.say('Half of it is done, which this sentence says in two lines.')
  progress.show(['  table'])
  assert.deepEqual(terminal.shown(), [
    '  Half of it is done, which this',
    '  sentence says in two lines.',
    '  table',
  ])
  assert.equal(terminal.writes(), 4)
  progress.clear()
  assert.deepEqual(terminal.shown().slice(2), [''])
})

test('lines are cut to the terminal, and lines that a narrower one wrapped are replaced too', () => {
  const terminal = fakeTerminal(12, 4)
  const progress = new Progress(terminal)
  progress.show(['1', '2', '3', '  a long last line'])
  assert.deepEqual(terminal.shown(), ['2', '3', '  a long l…'])
  const narrow = fakeTerminal(6)
  const resized = { ...narrow, columns: 12 }
  const after = new Progress(resized)
  after.show(['  123456', '  1'])
  assert.deepEqual(narrow.shown(), ['  1234', '56', '  1'])
  resized.columns = 6
  after.show(['  2'])
  assert.deepEqual(narrow.shown(), ['  2'])
})

test('left behind, the lines stay as they were, and the cursor is below them', () => {
  const terminal = fakeTerminal(40)
  const progress = new Progress(terminal)
  progress.show(['  table', '  1 of 2'])
  terminal.write('^C')
  progress.leave()
  progress.leave()
  assert.deepEqual(terminal.cursor(), [2, 0])
  progress.say('Stopped.')
  assert.deepEqual(terminal.shown(), ['  table', '  1 of 2', '  Stopped.', ''])
})

test('without a terminal every line stays, and nothing moves the cursor', () => {
  let text = ''
  const progress = new Progress({
    write(part) {
      text += part
    },
  })
  progress.update('1 of 2')
  progress.say('Half.')
  progress.clear()
  progress.leave()
  assert.equal(text, '  1 of 2\n  Half.\n')
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
