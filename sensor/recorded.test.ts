// How logs of any form are replayed: pace, repetition, and reasons for ending.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createManualTime } from '../protocol/testing.ts'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { createFrameSplitter } from './frame-splitter.ts'
import { openRecorded } from './recorded.ts'
import { type LogLayout, logLayouts, logStartAt, wireOf } from './testing.ts'

const stamped = (seconds: number, text: string) => `${1_777_708_800 + seconds} ${text}\n`

/** Frames that the tests distinguish by their node letter. */
const frame = (node: string) => wireOf(`${node},229,002.74,M,00,`, '')

const log = stamped(0, frame('A')) + stamped(0.25, frame('B')) + stamped(2, frame('C'))

/** Allows the survey and one round. */
function once(read: () => AsyncIterable<Uint8Array>) {
  let readings = 0
  return () => {
    readings += 1
    if (readings > 2) throw new Error('the log has ended')
    return read()
  }
}

/**
 * Everything that is ready happens within one turn of the event loop, since this log is not a file.
 */
function replay(text: string, options: Partial<Parameters<typeof openRecorded>[0]> = {}) {
  const time = createManualTime()
  const startAt = time.now()
  const heard: string[] = []
  const notes: string[] = []
  const source = openRecorded({
    path: '/logs/wind.txt',
    pace: 1,
    rateHz: 4,
    timers: time,
    read: once(async function* () {
      yield Buffer.from(text, 'latin1')
    }),
    onOpen(said) {
      heard.push('open')
      notes.push(...said)
    },
    onBytes: (bytes, at) =>
      void heard.push(`${Buffer.from(bytes).toString('latin1').slice(1, 2)}@${at - startAt}`),
    onClose: (reason) => void heard.push(reason),
    ...options,
  })
  return {
    source,
    heard,
    notes,
    time,
    async pass(ms: number) {
      await turn()
      for (let passed = 0; passed < ms; passed += 25) {
        time.advance(25)
        await turn()
      }
    },
  }
}

const forEver = (text: string) =>
  async function* () {
    yield Buffer.from(text, 'latin1')
  }

const ended = 'the log has ended'

test('plays with its own gaps and current timestamps', async () => {
  const { heard, pass } = replay(log)
  assert.deepEqual(heard, [], 'reports nothing before the opening call has returned')
  await pass(0)
  assert.deepEqual(heard, ['open', 'A@0'])
  await pass(1950)
  assert.deepEqual(heard, ['open', 'A@0', 'B@250'])
  await pass(50)
  assert.deepEqual(heard, ['open', 'A@0', 'B@250', 'C@2000', ended])
})

test('plays ten times as fast, and half as fast', async () => {
  const fast = replay(log, { pace: 10 })
  await fast.pass(200)
  assert.deepEqual(fast.heard, ['open', 'A@0', 'B@25', 'C@200', ended])
  const slow = replay(log, { pace: 0.5 })
  await slow.pass(4000)
  assert.deepEqual(slow.heard, ['open', 'A@0', 'B@500', 'C@4000', ended])
})

test('repeats the log, with a pause in between', async () => {
  const { heard, pass, source } = replay(log, { read: forEver(log) })
  await pass(3000)
  assert.deepEqual(heard, ['open', 'A@0', 'B@250', 'C@2000', 'A@2250', 'B@2500'])
  await source.stop()
})

test('plays bytes without times at the given rate', async () => {
  const { heard, pass } = replay(['A', 'B', 'C'].map((node) => `${frame(node)}\r\n`).join(''), {
    rateHz: 2,
    pace: 2,
  })
  await pass(500)
  assert.deepEqual(heard, ['open', 'A@0', 'B@250', 'C@500', ended])
})

test('late timers cause no drift; a short stall is caught up, a long one is not', async () => {
  const bare = `${frame('X')}\r\n`.repeat(1000)
  const { heard, pass, time } = replay(bare)
  await pass(1000)
  time.stall(5000)
  await pass(1000)
  assert.equal(heard.filter((text) => text.startsWith('X')).length, 1 + 4 + 20 + 4)
  time.stall(3_600_000)
  await pass(1000)
  assert.ok(heard.length < 40, `${heard.length}`)
})

test('skips lines without a message', async () => {
  const { heard, pass } = replay(`when what\n${log}\n${stamped(9, 'CONFIGURATION MODE')}no time\n`)
  await pass(2000)
  assert.deepEqual(heard, ['open', 'A@0', 'B@250', 'C@2000', ended])
})

/** Sixty messages in 15 s, distinguished by node and speed. */
const sixty = Array.from({ length: 60 }, (_, index) => {
  return wireOf(`${String.fromCharCode(0x41 + (index % 26))},229,002.${String(10 + index)},M,00,`, '')
})

function logOf({ heading = '', line }: LogLayout, hasTime: (index: number) => boolean = () => true): string {
  const lines = sixty.map((message, index) =>
    hasTime(index) ? line(message, logStartAt + index * 250, index) : message,
  )
  return heading + lines.map((text) => `${text}\n`).join('')
}

/** When each of the sixty was played, ms after the first. */
async function timesIn(text: string, rateHz = 4) {
  const { heard, notes, pass } = replay(text, { rateHz })
  await pass(16_000)
  const times = heard.filter((line) => line.includes('@')).map((line) => Number(line.split('@')[1]))
  return { times, notes, heard }
}

for (const layout of logLayouts) {
  test(`reads times: ${layout.name}`, async () => {
    const { times, notes } = await timesIn(logOf(layout), 1)
    assert.equal(times.length, 60)
    for (const [index, time] of times.entries())
      assert.ok(Math.abs(time - index * 250) < 26 + (layout.resolutionMs ?? 0), `${index} at ${time}`)
    assert.deepEqual(
      notes.filter((note) => !note.includes('since the start')),
      [],
    )
  })
}

test('names the unit of times since the start', async () => {
  for (const [name, unit] of [
    ['seconds since the start', 'seconds'],
    ['ms since the start', 'milliseconds'],
    ['µs since the start', 'microseconds'],
  ] as const) {
    const layout = logLayouts.find((one) => one.name === name) ?? assert.fail(name)
    const { notes } = await timesIn(logOf(layout))
    assert.deepEqual(notes, [`The numbers before its messages are read as ${unit} since the start.`])
  }
})

test('spreads messages without a time between their neighbours, wherever they are, and reports it', async () => {
  for (const layout of logLayouts.filter(({ resolutionMs }) => resolutionMs === undefined))
    for (const hasTime of [
      (index: number) => index % 3 !== 2,
      (index: number) => index % 4 === 1,
      (index: number) => index > 5 && index < 50,
    ]) {
      const { times, notes } = await timesIn(logOf(layout, hasTime))
      assert.equal(times.length, 60, layout.name)
      for (const [index, time] of times.entries())
        assert.ok(Math.abs(time - index * 250) < 26, `${layout.name}: ${index} at ${time}`)
      const untimed = sixty.filter((_, index) => !hasTime(index)).length
      assert.equal(
        notes.at(-1),
        `${untimed} of 60 messages have no timestamp: they are spread between their neighbours.`,
      )
    }
})

test('reports that a log without times, or with unrecognised ones, is played at an assumed rate', async () => {
  for (const before of ['', 'wind: ', 'day 31 of month one, noon; '])
    assert.deepEqual((await timesIn(sixty.map((message) => `${before}${message}\r\n`).join(''))).notes, [
      'No timestamps were recognised: the log is played at an assumed rate, 4 messages a second (sensor.rateHz).',
    ])
})

test('skips a heading of any length', async () => {
  const iso = logLayouts[0] ?? assert.fail()
  for (const lines of [21, 30_000]) {
    const heading = Array.from({ length: lines }, (_, i) => `# setting ${i} = 2020\n`).join('')
    const { times, notes } = await timesIn(heading + logOf(iso))
    assert.deepEqual([times.length, times.at(-1), notes], [60, 59 * 250, []])
  }
})

test('finds the order of day and month in the log, or reports an assumption', async () => {
  const hourMs = 3_600_000
  const log = (dates: readonly string[]) => dates.map((date, i) => `${date} ${sixty[i] ?? ''}\n`).join('')
  for (const [dates, gapMs, isAssumed] of [
    [['03/04/2020 23:30:00', '04/04/2020 00:00:00', '13/04/2020 00:00:01'], 1_800_000, false],
    [['03/04/2020 23:30:00', '03/05/2020 00:00:00', '03/13/2020 00:00:01'], 1_800_000, false],
    [['03/04/2020 23:30:00', '04/04/2020 00:00:00', '05/04/2020 00:00:01'], 1_800_000, false],
    [['03/04/2020 23:30:00', '03/05/2020 00:00:00', '03/06/2020 00:00:01'], 1_800_000, false],
    [['03/04/2020 12:00:00', '03/04/2020 12:00:05', '03/04/2020 12:00:06'], 5000, true],
    [['2020/04/03 23:59:58', '2020/04/04 00:00:03', '2020/04/04 00:00:04'], 5000, false],
  ] as const) {
    const { heard, notes, pass } = replay(log(dates), { pace: 100 })
    await pass((3 * hourMs) / 100)
    assert.equal(heard[2], `B@${gapMs / 100}`, dates.join())
    const note = 'Its dates are assumed to be day/month/year, which the log does not show.'
    assert.deepEqual(notes, isAssumed ? [note] : [])
  }
})

test('a daylight-saving change of the clock makes no gap, nor does a clock that is set back', async () => {
  const log = (clocks: readonly string[]) => clocks.map((clock, i) => `${clock} ${sixty[i] ?? ''}\n`).join('')
  for (const clocks of [
    ['01:59:58', '01:59:59', '03:00:00', '03:00:01'],
    ['02:59:58', '02:59:59', '02:00:00', '02:00:01'],
    ['2020-03-29 01:59:58', '2020-03-29 01:59:59', '2020-03-29 03:00:00', '2020-03-29 03:00:01'],
    ['2020-10-25T02:59:58', '2020-10-25T02:59:59', '2020-10-25T02:00:00', '2020-10-25T02:00:01'],
  ]) {
    const { heard, pass } = replay(log(clocks))
    await pass(4000)
    assert.deepEqual(heard.slice(1, 5), ['A@0', 'B@1000', 'C@2000', 'D@3000'], `${clocks}`)
  }
  const { heard, pass } = replay(log(['12:00:00', '12:00:01', '11:59:30', '11:59:31']))
  await pass(4000)
  assert.deepEqual(heard.slice(1, 5), ['A@0', 'B@1000', 'C@1000', 'D@2000'])
})

async function refusalOf(log: string | Uint8Array): Promise<string> {
  const { heard, pass } = replay('', {
    async *read() {
      yield typeof log === 'string' ? Buffer.from(log, 'latin1') : log
    },
  })
  await pass(0)
  assert.equal(heard.length, 1, `${heard}`)
  return (heard[0] ?? '').replace(/^.*can be replayed: /, '')
}

test('a log that cannot be replayed closes at once, never opens and says why', async () => {
  const body = 'Q,229,002.74,M,00,'
  const utf16 = Buffer.from(`\ufeff${sixty.join('\r\n')}`, 'utf16le')
  for (const [log, why] of [
    ['\n\n', /^it contains no WindSonic message \(its first line is ""\)/],
    [
      'no wind here\n',
      /^it contains no WindSonic message \(its first line is "no wind here"\); name a raw log/,
    ],
    [stamped(0, 'no wind here'), /^it contains no WindSonic message/],
    [
      stamped(0, `\x02${body}\x03`),
      /^1 messages start in it, but none is complete \(1 cut before the checksum or line end\); log/,
    ],
    [
      `${`\x02${body}\x03\n`.repeat(29)}\x02${body}\x0317\n`,
      /^30 messages .*\(29 cut before .*, 1 with a wrong checksum\)/,
    ],
    [`\\x02${body}\\x0316\\r\\n\n`.repeat(3), /^its control characters are written as text \("\\x02Q,229/],
    [`<STX>${body}<ETX>16<CR><LF>\n`, /^its control characters are written as text \("<STX>/],
    [`^B${body}^C16^M\n`, /^its control characters are written as text/],
    ['$IIMWV,284,R,001.26,K,A*1D\\r\\n\n', /^its control characters are written as text/],
    [
      `2020-01-31 12:00:00 ${body}16\n`,
      /^the marks around its messages, STX and ETX or \$, were left out \("2020-01-31 12:00:00 Q,229,/,
    ],
    ['12:00:00 IIMWV,284,R,001.26,K,A*1D\n', /^the marks around its messages/],
    [
      wireOf('A,121,000.08,M,+344.66,+021.76,00,'),
      /^its messages are intact, but in an unsupported format \("·A,121,000\.08/,
    ],
    [utf16, /^it is UTF-16 text, as Windows PowerShell writes; convert it: iconv/],
    [Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0), /^it is compressed; unpack it first/],
  ] as const)
    assert.match(await refusalOf(log), why)
})

test('stops searching a log after a limit', async () => {
  let chunks = 0
  const { heard, pass } = replay('', {
    async *read() {
      for (const chunk = Buffer.alloc(2 ** 20, 'no wind here '); ; chunks += 1) yield chunk
    },
  })
  await pass(0)
  assert.match(heard[0] ?? '', /nothing in the log can be replayed/)
  assert.ok(chunks <= 70, `${chunks} MB`)
})

test('reports that many messages are damaged', async () => {
  const damaged = sixty.map((message, i) => (i % 5 === 0 ? message.replace('229', '228') : message))
  const { notes } = await timesIn(damaged.map((message, i) => stamped(i / 4, message)).join(''))
  assert.deepEqual(notes, ['12 of 60 messages cannot be read (12 with a wrong checksum).'])
})

test('after stop, reports nothing and leaves no timer', async () => {
  const { heard, pass, source, time } = replay(log)
  await pass(300)
  await source.stop()
  await pass(10_000)
  assert.deepEqual(heard, ['open', 'A@0', 'B@250'])
  assert.equal(time.pending(), 0)
})

test('reports nothing if it is stopped before it begins', async () => {
  const { heard, pass, source } = replay(log)
  await source.stop()
  await pass(1000)
  assert.deepEqual(heard, [])
})

async function closing(path: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  openRecorded({
    path,
    pace: 1,
    rateHz: 4,
    timers: createManualTime(),
    onOpen: () => assert.fail('it opened'),
    onBytes: () => assert.fail('bytes came'),
    onClose: resolve,
  })
  return promise
}

async function folderFor(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t)
  return folder
}

test('reports a file that is missing, empty or not a file', async (t) => {
  const folder = await folderFor(t)
  const missing = join(folder, 'missing')
  const empty = join(folder, 'empty')
  await writeFile(empty, '')
  assert.equal(
    await closing(missing),
    `the log cannot be read, there is no such file: check sensor.file (--sensor-file)`,
  )
  assert.equal(await closing(empty), 'the log is empty')
  assert.equal(await closing(folder), 'this is not a file: name a raw log of a WindSonic')
})

test('reports a file that this user may not read, with a remedy', {
  skip: process.platform === 'win32' ? 'Windows has no modes' : false,
}, async (t) => {
  const folder = await folderFor(t)
  const path = join(folder, 'secret.log')
  await writeFile(path, log, { mode: 0o000 })
  await chmod(folder, 0o755)
  // Root may read everything: become nobody for this test.
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    assert.equal(
      await closing(path),
      `the log cannot be read, permission denied: let the user that runs the server read it (chmod a+r, and a+x for its folders)`,
    )
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
})

test('reads a file', async (t) => {
  const path = join(await folderFor(t), 'wind.txt')
  await writeFile(path, stamped(0, frame('A')) + stamped(0, frame('B')), 'latin1')
  const heard: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const source = openRecorded({
    path,
    pace: 1,
    rateHz: 4,
    timers: createManualTime(),
    onOpen: () => void heard.push('open'),
    onBytes(bytes) {
      heard.push(Buffer.from(bytes).toString('latin1'))
      if (heard.length === 3) resolve()
    },
    onClose: assert.fail,
  })
  await promise
  await source.stop()
  assert.deepEqual(heard, ['open', `${frame('A')}\r\n`, `${frame('B')}\r\n`])
})

/** A frame with another speed than the others. */
const faster = (speed: string) => wireOf(`Q,229,00${speed},M,00,`, '')

async function* inPieces(text: string, pieceLength: number) {
  const bytes = Buffer.from(text, 'latin1')
  for (let i = 0; i < bytes.length; i += pieceLength) yield bytes.subarray(i, i + pieceLength)
}

/** Plays a log once, with a time that jumps to each timer. Rows are `gap:text`, gaps in ms. */
async function playedAtOnce(text: string, { rateHz = 4, pieceLength = text.length || 1 } = {}) {
  const rows: string[] = []
  const notes: string[] = []
  let now = 0
  let lastAt = 0
  const { promise, resolve: close } = Promise.withResolvers<string>()
  openRecorded({
    path: '/logs/wind.txt',
    pace: 1,
    rateHz,
    timers: {
      now: () => now,
      later(run, delayMs) {
        now += delayMs
        queueMicrotask(run)
        return () => undefined
      },
    },
    read: once(() => inPieces(text, pieceLength)),
    onOpen: (said) => void notes.push(...said),
    onBytes(bytes, at) {
      rows.push(`${Math.round((at - lastAt) * 1000) / 1000}:${Buffer.from(bytes).toString('latin1')}`)
      lastAt = at
    },
    onClose: close,
  })
  const reason = await promise
  return { rows, notes, reason, seconds: now / 1000 }
}

async function outline(text: string, options?: { rateHz?: number; pieceLength?: number }): Promise<string[]> {
  return (await playedAtOnce(text, options)).rows
}

const stampedLines = [
  `2026-05-02T08:00:00.000Z ${faster('1.00')}`,
  `2026-05-02T08:00:00.250Z ${faster('2.00')}`,
  `2026-05-02T08:00:02.000Z ${faster('3.00')}`,
]
const said = [`0:${faster('1.00')}\r\n`, `250:${faster('2.00')}\r\n`, `1750:${faster('3.00')}\r\n`]

test('plays a log with timestamps, whatever its line ends and chunks', async () => {
  for (const ending of ['\n', '\r\n', '\r'])
    for (const pieceLength of [1, 7, 1000]) {
      const text = stampedLines.map((line) => line + ending).join('')
      assert.deepEqual(await outline(text, { pieceLength }), said)
    }
  assert.deepEqual(await outline(stampedLines.join('\n')), said, 'no line end at the end')
})

test('messages without a time share the gap; before the first time and after the last they follow the rate', async () => {
  const first = faster('1.00')
  const second = faster('2.00')
  const third = faster('3.00')
  const text = [
    first,
    first,
    stampedLines[0],
    second,
    stampedLines[1],
    second,
    second,
    stampedLines[2],
    third,
    third,
  ]
  const rows = await outline(text.join('\n'), { rateHz: 2 })
  assert.deepEqual(
    rows.map((row) => Number.parseFloat(row)),
    [0, 500, 500, 125, 125, ...Array.from({ length: 3 }, () => 583.333), 500, 500],
  )
})

test('no more messages without a time wait than are kept, and none is lost', async () => {
  const count = 10_000
  const text = [
    stampedLines[0],
    ...Array.from({ length: count }, () => faster('9.00')),
    stampedLines[2],
  ].join('\n')
  const rows = await outline(text)
  assert.equal(rows.length, count + 2)
})

test('a clock that went back makes no gap', async () => {
  const first = stampedLines[2]
  const second = stampedLines[1]
  assert.deepEqual(await outline(`${first}\n${second}\n`), [
    `0:${faster('3.00')}\r\n`,
    `0:${faster('2.00')}\r\n`,
  ])
})

test('a clock change is at most an hour, and a clock that stands still is not used', async () => {
  const first = `1970-01-01T00:00:05Z ${faster('1.00')}`
  const line = stampedLines[2] ?? ''
  const rows = await outline([first, ...Array.from({ length: 6 }, () => line)].join('\n'))
  assert.deepEqual(
    rows.map((row) => Number(row.slice(0, row.indexOf(':')))),
    [0, 3_600_000, 0, 0, 0, 250, 250],
  )
})

test('a log without times is played message by message at the rate, whatever its line ends', async () => {
  for (const ending of ['\r\n', '\r', '\n'])
    for (const pieceLength of [1, 10, 1000]) {
      const text = ['02.74,M,00,\x0316', faster('1.00'), faster('2.00'), '\x02Q,1'].map(
        (line) => line + ending,
      )
      assert.deepEqual(await outline(text.join(''), { pieceLength, rateHz: 2 }), [
        `0:${faster('1.00')}\r\n`,
        `500:${faster('2.00')}\r\n`,
        '500:\x02Q,1\r\n',
      ])
    }
})

test('endless garbage is cut, not collected', async () => {
  const rows = await outline(`${faster('1.00')}\r\n${`\x02${'x'.repeat(10_000)}`.repeat(3)}`, {
    pieceLength: 100,
  })
  assert.ok(rows.length > 1 && rows.length < 5 && rows.every((row) => row.length < 1100))
})

const hourMs = 3_600_000

/** The gaps with which a log with these times is played; a local clock has no zone. */
async function gapsOf(times: readonly number[], { rateHz = 4, isLocal = false } = {}): Promise<number[]> {
  const stamps = times.map((at) => new Date(at).toISOString().slice(0, isLocal ? -1 : undefined))
  const rows = await outline(stamps.map((stamp) => `${stamp} ${faster('1.00')}\n`).join(''), { rateHz })
  return rows.map((row) => Number.parseFloat(row))
}

test('gaps follow the times, and are zero where the clock went back', async () => {
  assert.deepEqual(await gapsOf([5000, 5250, 9000, 8000, 8250]), [0, 250, 3750, 0, 250])
})

test('plays one frame an hour at its pace, and limits longer gaps, such as a day or since 1970, to an hour', async () => {
  assert.deepEqual(await gapsOf([0, hourMs, 2 * hourMs]), [0, hourMs, hourMs])
  assert.deepEqual(await gapsOf([5000, Date.UTC(2026, 4, 2)]), [0, hourMs])
})

test('frames with equal times are played at once, up to one second’s worth', async () => {
  assert.deepEqual(await gapsOf([0, 0, 0, 0, 1000, 1000, 1000, 1000]), [0, 0, 0, 0, 1000, 0, 0, 0])
  assert.deepEqual(await gapsOf([0, 0, 0, 0, 0, 0], { rateHz: 6 }), [0, 0, 0, 0, 0, 0])
})

test('more frames with equal times are spread, and the log takes no longer', async () => {
  assert.deepEqual(await gapsOf([0, 0, 0, 0, 0, 0, 1000]), [0, 0, 0, 0, 250, 250, 500])
  const minutes = await gapsOf(Array.from({ length: 721 }, (_, i) => 60_000 * Math.floor(i / 240)))
  assert.equal(Math.max(...minutes), 1000)
  assert.equal(
    minutes.reduce((sum, gapMs) => sum + gapMs),
    180_000,
  )
})

test('one time for all lines is ignored: the rate applies', async () => {
  const gaps = await gapsOf(
    Array.from({ length: 100 }, () => 7),
    { rateHz: 2 },
  )
  assert.deepEqual(gaps, [0, 0, 0, 0, ...Array.from({ length: 96 }, () => 500)])
})

test('a local clock change of an hour makes no gap among frequent lines, but does among hourly ones', async () => {
  const local = (times: readonly number[]) => gapsOf(times, { isLocal: true })
  assert.deepEqual(await local([0, 250, hourMs + 500, hourMs + 750]), [0, 250, 250, 250])
  assert.deepEqual(await local([hourMs, hourMs + 250, 500, 750]), [0, 250, 250, 250])
  assert.deepEqual(await local([0, hourMs, 2 * hourMs]), [0, hourMs, hourMs])
  assert.deepEqual(await local([0, 250, hourMs / 2]), [0, 250, hourMs / 2 - 250], 'half an hour is a hole')
  assert.deepEqual(await gapsOf([0, 250, hourMs + 500]), [0, 250, hourMs], 'not if the clock has a zone')
})

const folder = resolve(import.meta.dirname, '../../shared/data/wind')
const shipLog = resolve(folder, 'sikuliaq-gill-polar-2018-12-06.txt')
const cutLog = resolve(folder, 'ncas-cape-verde-uv-2017-08-30.txt')
const absent = (path: string) => (existsSync(path) ? false : 'the real records are not on this machine')

test('all 1,000 frames of a ship are replayed over their 16 minutes', {
  skip: absent(shipLog),
}, async () => {
  const { rows, notes, seconds } = await playedAtOnce(await readFile(shipLog, 'latin1'))
  assert.deepEqual([rows.length, notes], [1000, []])
  const splitter = createFrameSplitter()
  const splits = rows.flatMap((row) =>
    splitter.push(Buffer.from(row.slice(row.indexOf(':') + 1), 'latin1'), 0),
  )
  assert.equal(splits.filter(({ kind }) => kind === 'frame').length, 1000)
  assert.ok(Math.abs(seconds - 999.064) < 0.01, `${seconds} s`)
})

test('no UV frame cut before its checksum is played', { skip: absent(cutLog) }, async () => {
  const { rows, reason } = await playedAtOnce(await readFile(cutLog, 'latin1'))
  assert.deepEqual(rows, [])
  assert.match(reason, /: 2\d\d messages start in it, but none is complete \(2\d\d cut before the checksum/)
})
