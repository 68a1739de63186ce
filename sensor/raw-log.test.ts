// The forms of lines that loggers write.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entriesOf } from './raw-log.ts'

type TimeLayout = NonNullable<Parameters<typeof entriesOf>[1]>

const date: TimeLayout = { kind: 'date', isDayFirst: true }
const clock: TimeLayout = { kind: 'clock' }
const layouts: readonly TimeLayout[] = [date, { kind: 'epoch' }]

async function entryOf(line: string, layout: TimeLayout | null) {
  const chunks = (async function* () {
    yield Buffer.from(line, 'latin1')
  })()
  return (await Array.fromAsync(entriesOf(chunks, layout)))[0]
}

/** Uses the first layout that finds a time. */
async function read(line: string): Promise<{ at: number; message: string } | null> {
  for (const layout of layouts) {
    const entry = await entryOf(line, layout)
    if (entry?.time) return { at: Math.floor(entry.time.at), message: entry.message }
  }
  return null
}

const timeOf = async (line: string, layout: TimeLayout) => (await entryOf(line, layout))?.time ?? null

const frame = '\x02Q,229,002.74,M,00,\x0316'
const at = Date.UTC(2026, 4, 2, 8, 0, 0, 250)

test('reads a time, a separator and a frame', async () => {
  for (const stamp of [
    '2026-05-02T08:00:00.250Z',
    '2026-05-02T08:00:00.25',
    '2026-05-02T08:00:00.250123Z',
    '2026-05-02 08:00:00.250',
    '2026-05-02T10:00:00.250+02:00',
    '2026-05-02T10:00:00.250+0200',
    '1777708800250',
    '1777708800.25',
  ])
    for (const separator of ['\t', ' ', ',', '; ', '  '])
      assert.deepEqual(await read(stamp + separator + frame), { at, message: frame }, stamp + separator)
})

test('reads times without fractions, and with more text before them', async () => {
  assert.deepEqual(await read(`1777708800 ${frame}`), { at: at - 250, message: frame })
  const line = `2026-05-02 08:00:00,UTC,2026-05-02T08:00:00.250 ${frame}`
  assert.deepEqual(await read(line), { at, message: frame })
  assert.deepEqual(await read(`port3,1777708800.25,${frame}`), { at, message: frame })
})

test('reads times and frames that a logger quotes, brackets or follows with a colon', async () => {
  const iso = '2026-05-02 08:00:00.250'
  for (const line of [
    `"${iso}","${frame}"`,
    `'${iso}';'${frame}'\r`,
    `${iso},"${frame}"`,
    `"1777708800.25","port3","${frame}" `,
    `[${iso}] ${frame}`,
    `[1777708800250] ${frame}`,
    `${iso}: ${frame}`,
    `1777708800.25:${frame}`,
  ])
    assert.deepEqual(await read(line), { at, message: frame }, line)
})

test('reads NMEA, and ignores other text', async () => {
  const nmea = '$IIMWV,284,R,001.26,K,A*1D'
  assert.deepEqual(await read(`2026-05-02T08:00:00.25Z ${nmea}`), { at, message: nmea })
  for (const line of ['1777708800.25\tCONFIGURATION MODE', '1777708800.25,Q,229,002.74,M,00,16'])
    assert.equal(await entryOf(line, { kind: 'epoch' }), undefined)
})

test('finds no time in lines without one, or with an impossible one', async () => {
  for (const line of [
    frame,
    '',
    'time,raw',
    '002.74,M,00,\x0316',
    `2026-13-02T08:00:00 ${frame}`,
    `2026-05-02 ${frame}`,
    `12345 ${frame}`,
    `x1777708800.25y ${frame}`,
    '2026-05-02T08:00:00Z',
  ])
    assert.equal(await read(line), null, line)
})

test('checks what a clock shows, and does not read a fraction as a further column', async () => {
  const noonMs = 12 * 3_600_000
  for (const [text, expected] of [
    ['12:00:00', noonMs],
    ['12:00:00.5', noonMs + 500],
    ['12:00:00,5', noonMs + 500],
    ['12:00:00:500', noonMs + 500],
    ['12:00:00 PM', noonMs],
    ['12:00:00 am', 0],
    ['1:00:00 p.m.', noonMs + 3_600_000],
    ['12:00:00,17,', noonMs],
    ['12:00:00,250,', noonMs + 250],
  ] as const)
    assert.deepEqual(await timeOf(`${text} ${frame}`, clock), { at: expected, isLocal: true }, text)
  for (const text of ['24:00:00', '12:60:00', '12:00:61', '12:00', '1:2:3', '112:00:00'])
    assert.equal(await timeOf(`${text} ${frame}`, clock), null, text)
})

test('a clock passes midnight', async () => {
  const chunks = (async function* () {
    yield Buffer.from(['23:59:59', '00:00:01', '00:00:02'].map((time) => `${time} ${frame}\n`).join(''))
  })()
  const times = (await Array.fromAsync(entriesOf(chunks, clock))).map(({ time }) => time?.at ?? 0)
  assert.deepEqual(
    times.map((time) => time - (times[0] ?? 0)),
    [0, 2000, 3000],
  )
})

test('reads a date as the layout says, unless there is no such date', async () => {
  const dayOf = async (text: string, isDayFirst: boolean) => {
    const time = await timeOf(`${text} 00:00:00 ${frame}`, { kind: 'date', isDayFirst })
    return time && new Date(time.at).toISOString().slice(0, 10)
  }
  for (const [text, dayFirst, monthFirst] of [
    ['03/04/2020', '2020-04-03', '2020-03-04'],
    ['3.4.20', '2020-04-03', '2020-03-04'],
    ['31-01-2020', '2020-01-31', '2020-01-31'],
    ['01/31/2020', '2020-01-31', '2020-01-31'],
    ['2020/02/29', '2020-02-29', '2020-02-29'],
    ['2019/02/29', null, null],
    ['30/02/2020', null, null],
    ['00/01/2020', null, null],
  ] as const)
    assert.deepEqual([await dayOf(text, true), await dayOf(text, false)], [dayFirst, monthFirst], text)
})

test('reads and reports a time zone', async () => {
  const read = (zone: string) => timeOf(`2026-05-02 08:00:00.25${zone} ${frame}`, date)
  for (const [zone, hours] of [
    ['Z', 0],
    [' UTC', 0],
    ['+02:00', -2],
    [' -0330', 3.5],
  ] as const)
    assert.deepEqual(await read(zone), { at: at + hours * 3_600_000, isLocal: false })
  assert.deepEqual(await read(''), { at, isLocal: true })
})

test('uses only separate numbers before a message', async () => {
  for (const [column, at] of [12_500, 7000, 8000, 1500].entries()) {
    const time = await timeOf(`[   12.500000] 7,port3,-4,+8,1,5 ${frame}`, {
      kind: 'count',
      column,
      unitMs: 1000,
    })
    assert.deepEqual(time, { at, isLocal: false })
  }
  assert.equal(await timeOf(`7,${frame}`, { kind: 'count', column: 1, unitMs: 1000 }), null)
})

test('drops what a logger appends to a message, but keeps what belongs to its line', async () => {
  const messageOf = async (line: string) => (await entryOf(line, null))?.message
  for (const behind of ['', '"', ' ', ',ok', '","ok",17', ';1', "'"])
    assert.equal(await messageOf(frame + behind), frame)
  for (const behind of ['\xfe\x82', '7', frame]) assert.equal(await messageOf(frame + behind), frame + behind)
  assert.equal(await messageOf('$IIMWV,284,R,001.26,K,A*1D,ok'), '$IIMWV,284,R,001.26,K,A*1D')
})
