// A sharing place with transports, a server and windows in memory, and a record of what each window was told.

import assert from 'node:assert/strict'
import { parseCursor } from '../../server/wire/cursor.ts'
import type { Draft, Message } from '../../server/wire/envelope.ts'
import type { DownFrame, PollAnswer, Stored, Welcome } from '../../server/wire/frames.ts'
import { createManualTime } from '../../server/wire/manual-time.ts'
import { modeNamed, type TransportName, transportNames } from '../../server/wire/modes.ts'
import { type Closing, lost, type Opening, type WebTransport } from '../transports/transport.ts'
import type { Windows } from './counts.ts'
import { createPlace } from './place.ts'
import type { Answer, ToWindow } from './port.ts'

/** Lets promises that are already settled go on. */
export const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

export function messageOf(seq: number, channel = 'main'): Message {
  const body = { html: `${seq}` }
  return { id: `w9-${seq}`, channel, kind: 'edit', from: 'w9', at: 0, body, seq, acceptedAt: 0 }
}

export function draftOf(id: string): Draft {
  const [from = ''] = id.split('-')
  return { id, channel: 'main', kind: 'edit', from, at: 0, body: { html: id } }
}

/** One opening of a real transport: the test plays the server. */
export type RealStream = ReturnType<typeof openReal>['stream']

function openReal({ mode, origin, query, onFrame, onClose }: Opening) {
  const waiting = new Map<string, PromiseWithResolvers<Stored>>()
  const sent: string[] = []
  const said: (Windows | undefined)[] = []
  let isClosed = false
  const welcome: Welcome = {
    type: 'welcome',
    window: query.get('window') ?? '',
    cursor: query.get('cursor') ?? 'life:0',
    recovered: query.has('cursor'),
    http: mode.http,
    heartbeatMs: 15_000,
  }
  const stream = {
    mode: mode.name,
    origin,
    window: query.get('window'),
    opening: Number(query.get('opening')),
    channels: query.get('channels'),
    cursor: query.get('cursor'),
    /** Ids of what went up. */
    sent,
    /** What it was told of how many windows it carries; undefined for a mere sign of life. */
    said,
    isClosed: () => isClosed,
    welcome: (change: Partial<Welcome> = {}) => onFrame({ ...welcome, ...change }, 0),
    message: (seq: number, channel?: string) =>
      onFrame({ type: 'message', message: messageOf(seq, channel) }, 0),
    frame: (frame: DownFrame) => onFrame(frame, 0),
    end: (closing: Partial<Closing> = {}) => onClose({ ...lost, ...closing }),
    store(id: string, seq: number) {
      waiting.get(id)?.resolve({ type: 'stored', id, seq })
      return settled()
    },
    fail(id: string, error: Error) {
      waiting.get(id)?.reject(error)
      return settled()
    },
  }
  return {
    stream,
    open: {
      send({ id }: Draft) {
        sent.push(id)
        const answer = Promise.withResolvers<Stored>()
        waiting.set(id, answer)
        return answer.promise
      },
      beat: (windows?: Windows) => void said.push(windows),
      close() {
        isClosed = true
      },
    },
  }
}

/** A question to the server, to be answered by the test. */
export interface Question {
  readonly cursor: string | null
  readonly channels: string | null
  readonly window: string | null
  readonly isFirst: boolean
  readonly signal: AbortSignal
  readonly answer: (answer: PollAnswer) => Promise<void>
  readonly fail: (error: unknown) => Promise<void>
}

export interface Asking {
  readonly window?: string
  readonly mode?: string
  readonly cursor?: string | null
  readonly channels?: string
}

export function openPlace() {
  const time = createManualTime()
  const streams: RealStream[] = []
  const questions: Question[] = []
  let names = 0

  function transport(name: TransportName): WebTransport {
    return {
      name,
      open(opening) {
        const { stream, open } = openReal(opening)
        streams.push(stream)
        return open
      },
    }
  }

  const named = transportNames.map((name) => [name, transport(name)] as const)
  const place = createPlace({
    transports: Object.fromEntries(named) as Record<TransportName, WebTransport>,
    timers: time,
    newName() {
      names += 1
      return `s${names}`
    },
    ask(_origin, query, signal) {
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
    place,
    time,
    streams,
    questions,
    newest: (): RealStream => streams.at(-1) ?? assert.fail('nothing was opened'),
    asked: (): Question => questions.at(-1) ?? assert.fail('nothing was asked'),
    window: () => openWindow(place),
  }
}

/** A window at the place, and all that it was told. */
export type TestWindow = ReturnType<typeof openWindow>

function openWindow(place: ReturnType<typeof createPlace>) {
  const heard = {
    frames: [] as string[],
    /** Numbers of the messages, in order. */
    messages: [] as number[],
    answers: [] as string[],
    closings: [] as Closing[],
    windows: [] as number[],
  }
  const attached = place.attach(take)
  let members = 0

  function take(said: ToWindow): void {
    if (said.type === 'closed') heard.closings.push(said.closing)
    else if (said.type === 'answer') heard.answers.push(answerInWords(said.id, said.answer))
    else takeFrame(said.frame)
  }

  function takeFrame(frame: DownFrame): void {
    heard.frames.push(frameInWords(frame))
    if (frame.type === 'message') heard.messages.push(frame.message.seq)
    if (frame.type === 'presence') heard.windows.push(frame.windows)
  }

  return {
    heard,
    join({ window = 'w1', mode = 'sse/2', cursor = 'life:0', channels = 'main,wind' }: Asking = {}) {
      const query = new URLSearchParams({ window, browser: 'b1', opening: '1', channels })
      if (cursor !== null) query.set('cursor', cursor)
      const known = modeNamed(mode) ?? assert.fail(`there is no mode ${mode}`)
      const polling = { intervalMs: 1000, holdMs: 20_000 }
      members += 1
      const asked = { origin: `https://${known.http}`, mode: known, query: `${query}`, polling }
      attached.hear({ type: 'join', member: members, asked })
    },
    send: (id: string, turn = 0) =>
      attached.hear({ type: 'send', member: members, draft: draftOf(id), turn }),
    leave: () => attached.hear({ type: 'leave', member: members }),
    vanish: attached.gone,
    /** Where a link would resume from. */
    cursor: () => `life:${heard.messages.at(-1) ?? 0}`,
  }
}

function frameInWords(frame: DownFrame): string {
  if (frame.type === 'message') return `${frame.message.seq}`
  if (frame.type === 'heartbeat') return `heartbeat ${frame.newest}`
  if (frame.type === 'presence') return `presence ${frame.windows}`
  if (frame.type !== 'welcome') return frame.type
  const at = parseCursor(frame.cursor)
  return `welcome ${frame.window} ${at?.epoch}:${at?.seq} ${frame.recovered ? 'recovered' : 'anew'}`
}

function answerInWords(id: string, answer: Answer): string {
  if (answer.type === 'stored') return `${id} as ${answer.seq}`
  return `${id} ${answer.kind} in turn ${answer.turn}: ${answer.sentence}`
}

/** Windows that follow one stream, which stands at `life:0`. */
export function openShared(count: number, asking: Parameters<TestWindow['join']>[0] = {}) {
  const opened = openPlace()
  const windows = Array.from({ length: count }, opened.window)
  for (const [index, window] of windows.entries()) window.join({ ...asking, window: `w${index + 1}` })
  const stream = opened.newest()
  stream.welcome()
  const [first, second, third] = windows as [TestWindow, TestWindow, TestWindow]
  return { ...opened, windows, first, second, third, stream }
}
