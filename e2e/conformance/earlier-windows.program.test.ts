// Windows of version 0.2, which stay open in browsers while the server is updated, go on without a reload.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../app/testing.ts'
import type { AwarenessFrame, DownFrame, PollAnswer } from '../../protocol/messages.ts'
import { nameOf } from '../clients/client.ts'
import { connectHttp, type HttpRequest, textOf } from '../clients/http-client.ts'

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
    const shown = { client: 7, clock: 1, state: { user: { name: 'Ada' }, cursor: null } }
    assert.equal(await show(newQuery, shown), 204)
    const opened = await poll(oldQuery, 'first=')
    assert.equal(opened.frames[0]?.type, 'welcome')
    assert.deepEqual(opened.frames.filter(isAwareness).flatMap(namesIn), ['Ada'])
    assert.equal(await show(oldQuery, { client: 8, name: 'Ben', anchor: null, head: null }), 204)
    assert.equal(await show(newQuery, 'no object'), '400 bad-shape')
    assert.equal(await show(newQuery, { here: true }), 204)
    const draft = {
      id: `${old}-1`,
      channel: 'main',
      kind: 'title',
      from: old,
      at: 1,
      body: { title: 'Minutes' },
    }
    const { status, text } = await ask(post(`/api/messages?key=${keys.old}`, draft))
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
    assert.deepEqual(titles, [draft.id])
  })
