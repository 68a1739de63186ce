// Windows of version 0.2, which stay open in browsers while the server is updated, go on without a reload.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../app/testing.ts'
import type { AwarenessFrame, DownFrame, PollAnswer } from '../../protocol/messages.ts'
import { modes } from '../../protocol/modes.ts'
import { nameOf } from '../clients/client.ts'
import { connectHttp, type HttpRequest, textOf } from '../clients/http-client.ts'
import { type ContractClient, openNamed } from './contract-client.ts'

const keys = { old: 'key-of-an-older-window1', now: 'key-of-a-newer-window1' } as const
const old = nameOf(keys.old, 'w1')
const newer = nameOf(keys.now, 'w1')

const post = (path: string, content: object): HttpRequest => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(content),
})

const queryOf = (window: string, key: string) => `window=${window}&key=${key}&opening=1`

/** As the page of version 0.2 reads a frame of awareness: a throw ends its poll, and it reconnects. */
function namesIn({ windows }: AwarenessFrame): string[] {
  return windows.flatMap(({ state }) => {
    if (state === null) return []
    const { name } = state as { readonly name: string }
    return [name.replace(/[\p{Cc}\p{Zs}\p{Zl}\p{Zp}]+/gu, ' ').trim()]
  })
}

const isAwareness = (frame: DownFrame): frame is AwarenessFrame => frame.type === 'awareness'

/** What the windows of 0.2 and newer ones show, and what the former send. */
const shown = {
  ada: { client: 7, clock: 1, state: { user: { name: 'Ada' }, cursor: null } },
  ben: { client: 8, name: 'Ben', anchor: null, head: null },
}
const titleOfOld = {
  id: `${old}-1`,
  channel: 'main',
  kind: 'title',
  from: old,
  at: 1,
  body: { title: 'Minutes' },
}

for (const path of ['poll', 'long-poll'])
  test(`a window of 0.2 that asks by ${path} reads what newer ones and programs show, and sends`, async (t) => {
    const server = await startTestServer()
    t.after(server.close)
    const http = connectHttp('2', server.origin['2'], server.ca)
    t.after(http.close)
    const ask = async (request: HttpRequest) => {
      const { status, body } = await http.ask(request)
      return { status, text: await textOf(body) }
    }
    const poll = async (who: string, more: string): Promise<PollAnswer> => {
      const { status, text } = await ask({
        path: `/api/${path}?${who}&channels=main,wind,overview.main&${more}`,
      })
      assert.equal(status, 200, text)
      return JSON.parse(text)
    }
    const show = async (who: string, state: unknown) => {
      const { status, text } = await ask(post(`/api/awareness?${who}`, { state }))
      return text === '' ? status : `${status} ${JSON.parse(text).code}`
    }
    const oldQuery = queryOf(old, keys.old)
    const newQuery = queryOf(newer, keys.now)
    await poll(newQuery, 'first=')
    assert.equal(await show(newQuery, shown.ada), 204)
    const opened = await poll(oldQuery, 'first=')
    assert.equal(opened.frames[0]?.type, 'welcome')
    assert.deepEqual(opened.frames.filter(isAwareness).flatMap(namesIn), ['Ada'])
    assert.equal(await show(oldQuery, shown.ben), 204)
    assert.equal(await show(newQuery, 'no object'), '400 bad-shape')
    assert.equal(await show(newQuery, { here: true }), 204)
    const { status, text } = await ask(post(`/api/messages?key=${keys.old}`, titleOfOld))
    assert.equal(status, 200, text)
    // The state may come with the title, or after it.
    const frames: DownFrame[] = []
    let { cursor } = opened
    for (
      let asked = 0;
      asked < 100 && !(frames.some(isAwareness) && frames.some(({ type }) => type === 'message'));
      asked += 1
    ) {
      const answer = await poll(oldQuery, `cursor=${cursor}`)
      cursor = answer.cursor
      frames.push(...answer.frames)
    }
    assert.ok(frames.filter(isAwareness).flatMap(namesIn).includes(''))
    const titles = frames.flatMap((frame) => (frame.type === 'message' ? [frame.message.id] : []))
    assert.deepEqual(titles, [titleOfOld.id])
  })

/** Resolves to the next frame in which a window has the name. */
async function nextNamed(client: ContractClient, name: string): Promise<AwarenessFrame> {
  for (;;) {
    const frame = await client.next('awareness')
    if (namesIn(frame).includes(name)) return frame
  }
}

for (const mode of modes.filter(({ isPush }) => isPush))
  test(`a window of 0.2 over ${mode.name} reads what newer ones and programs show, and sends`, async (t) => {
    const server = await startTestServer()
    t.after(server.close)
    const open = (key: string, channels: string) =>
      openNamed(t, server, mode, { key, window: 'w1', channels })
    const later = open(keys.now, 'main,wind')
    await later.next('welcome')
    later.sendAwareness({ state: shown.ada })
    const earlier = open(keys.old, 'main,wind,overview.main')
    await earlier.next('welcome')
    await nextNamed(earlier, 'Ada')
    earlier.sendAwareness({ state: shown.ben })
    await nextNamed(later, 'Ben')
    later.sendAwareness({ state: { here: true } })
    await nextNamed(earlier, '')
    assert.equal((await earlier.send(titleOfOld)).type, 'stored')
    for (const client of [earlier, later])
      assert.equal((await client.next('message')).message.id, titleOfOld.id)
  })
