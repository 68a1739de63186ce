// Opens no more browsers at a time than allowed, and windows keep their numbers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFleet } from './load-process.ts'
import { startTls } from './testing.ts'

const plan = { firstWindow: 10, windows: 5, perBrowser: 2, channel: 'c', openingAtOnce: 2 }
const listener = { onMark: () => undefined, onFailure: () => undefined }
const target = (origin: string) =>
  ({ client: 'sse', http: '1.1', origin, polling: { intervalMs: 0, holdMs: 0 } }) as const

test("never opens more at a time than allowed; marks and names have their window's number", async (t) => {
  const asked: string[] = []
  let opening = 0
  let most = 0
  const origin = await startTls(t, (socket) => {
    opening += 1
    most = Math.max(most, opening)
    socket.once('data', async (request) => {
      const [, number = ''] = /window=[^&]+\.w(\d+)&/.exec(String(request)) ?? []
      asked.push(number)
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
      opening -= 1
      socket.write(`HTTP/1.1 200 OK\r\n\r\ndata: <p>#${number}# </p>\n\n`)
    })
  })
  const marks: number[][] = []
  const onMark = (window: number, mark: number) => marks.push([window, mark])
  const fleet = await openFleet({ ...plan, target: target(origin) }, { ...listener, onMark })
  while (marks.length < 5) await new Promise(setImmediate)
  fleet.close()
  assert.equal(most, 2)
  assert.deepEqual(asked.toSorted(), ['10', '11', '12', '13', '14'])
  assert.deepEqual(
    marks.toSorted(([first = 0], [second = 0]) => first - second),
    [0, 1, 2, 3, 4].map((window) => [window, window + 10]),
  )
  assert.equal(fleet.author, null)
})

test('a refused window fails the fleet', async (t) => {
  const origin = await startTls(t, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 403 Forbidden\r\n\r\n'))
  })
  await assert.rejects(openFleet({ ...plan, target: target(origin) }, listener), /answered 403/)
})

test('the author is the first window of all', async (t) => {
  const origin = await startTls(t, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
  })
  const fleet = await openFleet({ ...plan, firstWindow: 0, target: target(origin) }, listener)
  fleet.close()
  assert.match(fleet.author?.name ?? '', /\.w0$/)
  assert.equal(fleet.author?.channel, 'c')
})
