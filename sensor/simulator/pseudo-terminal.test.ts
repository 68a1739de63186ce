// When a pseudo-terminal accepts bytes, loses them and is abandoned, with a fake socat.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../protocol/testing.ts'
import { openPty, type PtyOpening } from './pseudo-terminal.ts'

type SocatEvents = Parameters<NonNullable<PtyOpening['start']>>[0]

async function open() {
  const time = createManualTime()
  const written: string[] = []
  const heard: string[] = []
  let says: SocatEvents | null = null
  let isFull = false
  let isDead = false
  const opening = openPty({
    timers: time,
    onInput: (bytes) => void heard.push(Buffer.from(bytes).toString()),
    onEnd: () => void heard.push('end'),
    start(hears) {
      says = hears
      queueMicrotask(() => hears.onMade('/dev/pts/7'))
      return {
        write: (bytes) => void written.push(Buffer.from(bytes).toString()),
        get isFull() {
          return isFull
        },
        kill() {
          if (!isDead) queueMicrotask(() => hears.onEnd(new Error('killed')))
          isDead = true
        },
      }
    },
  })
  const pty = await opening
  const socat: SocatEvents = says ?? assert.fail('socat was not started')
  const fill = (full: boolean) => {
    isFull = full
  }
  return { time, written, heard, pty, socat, fill, write: (text: string) => pty.write(Buffer.from(text)) }
}

test('drops output before the device is opened and while its reader is too slow', async () => {
  const { pty, socat, write, written, fill } = await open()
  assert.equal(pty.device, '/dev/pts/7')
  write('before')
  socat.onOpened()
  write('a')
  fill(true)
  write('b')
  fill(false)
  write('c')
  assert.deepEqual(written, ['a', 'c'])
})

test('ends once when the device stays closed', async () => {
  const { time, socat, write, written, heard } = await open()
  socat.onOpened()
  socat.onClosed()
  for (let look = 0; look < 5; look++) {
    write('lost')
    socat.onClosed()
    time.advance(30)
  }
  assert.deepEqual(
    written,
    Array.from({ length: 5 }, () => '\n'),
  )
  await Promise.resolve()
  assert.deepEqual(heard, ['end'])
  assert.equal(time.pending(), 0)
})

test('continues after a quick reopening, once the host has written', async () => {
  const { time, socat, write, written, heard } = await open()
  socat.onOpened()
  socat.onClosed()
  socat.onClosed()
  time.advance(30)
  assert.deepEqual(written, ['\n', '\n'])
  time.advance(30)
  write('lost')
  socat.onInput(Buffer.from('*'))
  write('again')
  time.advance(60_000)
  assert.deepEqual(written, ['\n', '\n', 'again'])
  assert.deepEqual(heard, ['*'])
})

test('ends if the host reopens it and writes nothing', async () => {
  const { time, socat, heard } = await open()
  socat.onOpened()
  socat.onClosed()
  time.advance(30 + 999)
  assert.deepEqual(heard, [])
  time.advance(1)
  assert.deepEqual(heard, ['end'])
})

test('a host may close, reopen and write any number of times', async () => {
  const { time, socat, heard } = await open()
  socat.onOpened()
  for (let times = 0; times < 3; times++) {
    socat.onClosed()
    time.advance(30)
    socat.onInput(Buffer.from('B'))
    time.advance(5000)
  }
  assert.deepEqual(heard, ['B', 'B', 'B'])
})

test('reports the end when socat dies, but not when it was stopped', async () => {
  const dying = await open()
  dying.socat.onEnd(new Error('killed'))
  assert.deepEqual(dying.heard, ['end'])
  const stopped = await open()
  stopped.socat.onOpened()
  await stopped.pty.stop()
  stopped.socat.onInput(Buffer.from('late'))
  assert.deepEqual(stopped.heard, [])
})

test('rejects if socat creates no terminal', async () => {
  const opening = openPty({
    timers: createManualTime(),
    onInput: () => undefined,
    onEnd: () => assert.fail('it never began'),
    start(hears) {
      queueMicrotask(() => hears.onEnd(new Error('no terminals left')))
      return { write: () => undefined, isFull: false, kill: () => undefined }
    },
  })
  await assert.rejects(opening, /no terminals left/)
})
