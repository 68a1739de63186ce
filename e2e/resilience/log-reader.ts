// Reads back everything that the log has on some channels, from its first message to its last.

import { isKind } from '../../server/wire/envelope.ts'
import type { PollAnswer } from '../../server/wire/frames.ts'
import { connectHttp, type HttpClient, textOf } from '../fleet/http.ts'
import type { Seen } from './record.ts'

export interface LogReading {
  readonly origin: string
  readonly ca: string
  readonly channels: readonly string[]
}

/** By polls over HTTP/1.1, which no flow of messages can outrun. Rejects when the log does not reach back to its beginning. */
export async function readLog({ origin, ca, channels }: LogReading): Promise<Seen[]> {
  const http = connectHttp('1.1', origin, ca)
  try {
    const query = new URLSearchParams({ window: 'reader-of-the-log', channels: channels.join(',') })
    const { cursor } = await ask(http, query)
    return await readFrom(http, query, `${cursor.split(':')[0]}:0`)
  } finally {
    http.close()
  }
}

/** The text of the channel's newest content, without its markup; empty where there is none. */
export async function readContent(origin: string, ca: string, channel: string): Promise<string> {
  const http = connectHttp('1.1', origin, ca)
  try {
    const { frames } = await ask(
      http,
      new URLSearchParams({ window: 'reader-of-the-log', channels: channel }),
    )
    const newest = frames.findLast((frame) => frame.type === 'message')
    if (!newest || !isKind(newest.message, 'edit')) return ''
    return newest.message.body.html.replace(/<[^>]*>/g, '')
  } finally {
    http.close()
  }
}

async function readFrom(http: HttpClient, query: URLSearchParams, start: string): Promise<Seen[]> {
  const seen: Seen[] = []
  let cursor = start
  for (;;) {
    query.set('cursor', cursor)
    const answer = await ask(http, query)
    for (const frame of answer.frames) {
      if (frame.type === 'welcome' && !frame.recovered)
        throw new Error(
          'The log has forgotten its first messages: it cannot be read back. Raise limits.logMessages.',
        )
      if (frame.type === 'message') seen.push({ id: frame.message.id, seq: frame.message.seq })
    }
    if (answer.cursor === cursor) return seen
    cursor = answer.cursor
  }
}

async function ask(http: HttpClient, query: URLSearchParams): Promise<PollAnswer> {
  const { status, body } = await http.ask({ path: `/api/poll?${query}` })
  const text = await textOf(body)
  if (status !== 200) throw new Error(`The log could not be read back: ${status} ${text.slice(0, 200)}`)
  return JSON.parse(text)
}
