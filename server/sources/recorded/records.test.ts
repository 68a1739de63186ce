// Checks that logs of every shape become what was said and when, in any pieces and bounded memory.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordsOf } from './records.ts'

const frame = (speed: string) => `\x02Q,229,00${speed},M,00,\x0316`

async function* inPieces(text: string, pieceLength: number) {
  const bytes = Buffer.from(text, 'latin1')
  for (let i = 0; i < bytes.length; i += pieceLength) yield bytes.subarray(i, i + pieceLength)
}

/** `gap:text`, or `bad number:text`. */
async function outline(text: string, { rateHz = 4, pieceLength = text.length || 1 } = {}): Promise<string[]> {
  const rows: string[] = []
  for await (const record of recordsOf(inPieces(text, pieceLength), rateHz))
    rows.push(
      record.kind === 'bad'
        ? `bad ${record.number}:${record.text}`
        : `${record.gapMs}:${Buffer.from(record.bytes).toString('latin1')}`,
    )
  return rows
}

const stamped = [
  `2026-05-02T08:00:00.000Z ${frame('1.00')}`,
  `2026-05-02T08:00:00.250Z ${frame('2.00')}`,
  `2026-05-02T08:00:02.000Z ${frame('3.00')}`,
]
const said = [`0:${frame('1.00')}\r\n`, `250:${frame('2.00')}\r\n`, `1750:${frame('3.00')}\r\n`]

test('a stamped log, whatever its line ends and pieces', async () => {
  for (const ending of ['\n', '\r\n', '\r'])
    for (const pieceLength of [1, 7, 1000]) {
      const text = stamped.map((line) => line + ending).join('')
      assert.deepEqual(await outline(text, { pieceLength }), said)
    }
  assert.deepEqual(await outline(stamped.join('\n')), said, 'no line end at the end')
})

test('lines without a time are named, empty ones are nothing', async () => {
  const text = ['time raw', stamped[0], '', frame('9.00'), stamped[1], '2026', stamped[2], ''].join('\n')
  const [first = '', ...rest] = said
  assert.deepEqual(await outline(text), [
    'bad 1:time raw',
    first,
    `bad 4:${frame('9.00')}`,
    rest[0],
    'bad 6:2026',
    rest[1],
  ])
})

test('a clock that went back is no distance', async () => {
  const [first, second] = [stamped[2], stamped[1]]
  assert.deepEqual(await outline(`${first}\n${second}\n`), [
    `0:${frame('3.00')}\r\n`,
    `0:${frame('2.00')}\r\n`,
  ])
})

test('a clock that was set is an hour at most, and one that stands is no clock', async () => {
  const [first = '', line = ''] = [`1970-01-01T00:00:05Z ${frame('1.00')}`, stamped[2]]
  const rows = await outline([first, ...Array.from({ length: 6 }, () => line)].join('\n'))
  assert.deepEqual(
    rows.map((row) => Number(row.slice(0, row.indexOf(':')))),
    [0, 3_600_000, 0, 0, 0, 250, 250],
  )
})

test('bare bytes stay as they are, frame by frame at the rate', async () => {
  for (const ending of ['\r\n', '\r'])
    for (const pieceLength of [1, 10, 1000]) {
      const text = ['02.74,M,00,\x0316', frame('1.00'), frame('2.00')].map((line) => line + ending).join('')
      assert.deepEqual(await outline(text, { pieceLength, rateHz: 2 }), [
        `0:02.74,M,00,\x0316${ending}`,
        `500:${frame('1.00')}${ending}`,
        `500:${frame('2.00')}${ending}`,
      ])
    }
})

test('a CR that an editor took away is put back, half a frame at the end is kept', async () => {
  assert.deepEqual(await outline(`${frame('1.00')}\n\n\x02Q,1`), [`0:${frame('1.00')}\r\n`, '250:\x02Q,1'])
})

test('bare logs of more than a few lines, and every byte there is', async () => {
  const count = 100
  const text = Array.from({ length: count }, (_, i) => `${frame(`${i % 9}.00`)}\xfe\x82\r\n`).join('')
  const rows = await outline(text, { pieceLength: 13 })
  assert.equal(rows.length, count)
  assert.equal(rows.map((row) => row.slice(row.indexOf(':') + 1)).join(''), text)
})

test('garbage without an end is cut and not gathered', async () => {
  const rows = await outline('x'.repeat(10_000), { pieceLength: 100 })
  assert.ok(rows.length >= 9 && rows.every((row) => row.length < 1100))
  assert.equal(rows.join('').replaceAll(/\d+:/g, '').length, 10_000)
})

test('an empty log says nothing', async () => {
  assert.deepEqual(await outline(''), [])
  assert.deepEqual(await outline('\n\r\n\n'), [])
})
