// A coordinator with in-memory transports, server and windows, and a record of what each receives.

import assert from 'node:assert/strict'
import { type DownFrame, type Draft, type PollAnswer, parseCursor } from '../../protocol/messages.ts'
import { createManualTime } from '../../protocol/testing.ts'
import { createFakeTransports, type FakeStream, mode as modeCalled, settled } from '../testing.ts'
import type { Closing } from '../transports/transport.ts'
import { Coordinator, type ToCoordinator, type ToWindow } from './coordinator.ts'

/** The state that the tests' windows show. */
export interface ShownState {
  readonly client: number
  readonly name: string
  readonly anchor: string | null
  readonly head: string | null
}

export function draftOf(id: string): Draft {
  const [from = ''] = id.split('-')
  return { id, channel: 'main', kind: 'edit', from, at: 0, body: { html: id } }
}

interface Question {
  readonly cursor: string | null
  readonly channels: string | null
  readonly window: string | null
  readonly isFirst: boolean
  readonly signal: AbortSignal
  readonly answer: (answer: PollAnswer) => Promise<void>
  readonly fail: (error: unknown) => Promise<void>
}

interface Asking {
  readonly window?: string
  readonly key?: string
  readonly mode?: string
  readonly cursor?: string | null
  readonly channels?: string
}

export function openCoordinator() {
  const time = createManualTime()
  const { streams, transports } = createFakeTransports()
  const questions: Question[] = []
  let names = 0
  let windows = 0

  /** Releases a window's lock. */
  const releases = new Map<string, () => unknown>()
  const locks = {
    async request(window: string, _options: object, onFree: () => unknown) {
      releases.set(window, onFree)
    },
  }
  const coordinator = new Coordinator(transports, {
    locks: locks as unknown as LockManager,
    timers: time,
    nameStream() {
      names += 1
      return `s${names}`
    },
    ask(_base, query, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<PollAnswer>()
      questions.push({
        cursor: query.get('cursor'),
        channels: query.get('channels'),
        window: query.get('window'),
        isFirst: query.has('first'),
        signal,
        answer(answer) {
          resolve(answer)
          return settled()
        },
        fail(error) {
          reject(error)
          return settled()
        },
      })
      return promise
    },
  })

  return {
    time,
    streams,
    questions,
    newest: (): FakeStream => streams.at(-1) ?? assert.fail('nothing was opened'),
    asked: (): Question => questions.at(-1) ?? assert.fail('nothing was asked'),
    window() {
      windows += 1
      const name = `window ${windows}`
      return openWindow(
        (said, openPort) => coordinator.hear({ window: name, said }, openPort),
        () => releases.get(name)?.(),
      )
    },
  }
}

type TestWindow = ReturnType<typeof openWindow>

type OpenPort = Parameters<Coordinator['hear']>[1]

function openWindow(post: (said: ToCoordinator, openPort: OpenPort) => void, vanish: () => void) {
  const heard = {
    frames: [] as string[],
    messages: [] as number[],
    answers: [] as string[],
    closings: [] as Closing[],
    windows: [] as number[],
    awareness: [] as string[],
    /** The server's times in its welcomes. */
    welcomedAt: [] as number[],
  }
  const hear = (said: ToCoordinator) => post(said, () => ({ postMessage: take, close: () => undefined }))
  let members = 0
  let isRefusing = false

  function take(said: ToWindow): void {
    if (isRefusing) {
      isRefusing = false
      throw new RangeError('Maximum call stack size exceeded')
    }
    if (said.type === 'closed') heard.closings.push(said.closing)
    else takeFrame(said.frame)
  }

  function takeFrame(frame: DownFrame): void {
    if (frame.type === 'stored') return void heard.answers.push(`${frame.id} as ${frame.seq}`)
    if (frame.type === 'refused')
      return void heard.answers.push(`${frame.id} ${frame.code}: ${frame.message}`)
    if (frame.type === 'awareness') {
      const names = frame.windows.map(
        ({ window, state }) => `${window} ${(state as ShownState | null)?.anchor ?? 'gone'}`,
      )
      return void heard.awareness.push([...(frame.whole ? ['all'] : []), ...names].join(' '))
    }
    heard.frames.push(formatFrame(frame))
    if (frame.type === 'message') heard.messages.push(frame.message.seq)
    if (frame.type === 'presence') heard.windows.push(frame.windows)
    if (frame.type === 'welcome') heard.welcomedAt.push(frame.at)
  }

  return {
    heard,
    /** Its port copies the next message in vain. */
    refuseNext() {
      isRefusing = true
    },
    join({
      window = 'w1',
      key = 'k1',
      mode = 'sse/2',
      cursor = 'life:0',
      channels = 'main,wind',
    }: Asking = {}) {
      const query = { window, key, opening: '1', channels, ...(cursor && { cursor }) }
      const known = modeCalled(mode)
      const polling = { intervalMs: 1000, holdMs: 20_000 }
      members += 1
      const asked = { base: `https://${known.http}`, mode: known, query, polling }
      hear({ type: 'join', member: members, asked })
    },
    send: (id: string, more: { readonly volatile?: true } = {}) =>
      hear({ type: 'send', member: members, draft: JSON.stringify({ ...draftOf(id), ...more }) }),
    show: (anchor: string) => hear({ type: 'show', member: members, report: { state: shownAt(anchor) } }),
    leave: (isForGood = true) => hear({ type: 'leave', member: members, isForGood }),
    vanish,
    cursor: () => `life:${heard.messages.at(-1) ?? 0}`,
  }
}

export const shownAt = (anchor: string): ShownState => ({ client: 7, name: '', anchor, head: anchor })

function formatFrame(frame: DownFrame): string {
  if (frame.type === 'message') return `${frame.message.seq}`
  if (frame.type === 'heartbeat') return `heartbeat ${frame.newest}`
  if (frame.type === 'presence') return `presence ${frame.windows}`
  if (frame.type === 'volatile') return `volatile ${frame.message.id}`
  if (frame.type !== 'welcome') return frame.type
  const at = parseCursor(frame.cursor)
  return `welcome ${frame.window} ${at?.epoch}:${at?.seq} ${frame.recovered ? 'recovered' : 'snapshot'}`
}

/** Windows that share one stream at `life:0`. */
export function openShared(count: number, asking: Parameters<TestWindow['join']>[0] = {}) {
  const opened = openCoordinator()
  const windows = Array.from({ length: count }, opened.window)
  for (const [index, window] of windows.entries()) window.join({ ...asking, window: `w${index + 1}` })
  const stream = opened.newest()
  stream.welcome()
  const [first, second, third] = windows as [TestWindow, TestWindow, TestWindow]
  return { ...opened, windows, first, second, third, stream }
}
