// A link with everything around it in memory, and a record of what it told.

import assert from 'node:assert/strict'
import { createManualTime } from '../../server/wire/manual-time.ts'
import { type Mode, modeNamed } from '../../server/wire/modes.ts'
import { createLink } from './link.ts'
import { createFakeTransports, type FakeStream } from './testing.ts'

export function mode(name: string): Mode {
  return modeNamed(name) ?? assert.fail(`there is no mode ${name}`)
}

/** A link over transports in memory, with what it told kept in the order in which it came. */
export function openLink() {
  const time = createManualTime()
  const startAt = time.now()
  const { streams, transports } = createFakeTransports()
  const heard = {
    states: [] as string[],
    messages: [] as number[],
    windows: [] as number[],
    unstored: [] as number[],
    stored: [] as string[],
    refused: [] as string[],
  }
  const link = createLink({
    transports,
    originFor: (http) => `https://localhost:${http}`,
    window: 'w1',
    browser: 'b1',
    channels: ['main', 'wind'],
    mode: mode('sse/2'),
    timers: time,
    random: () => 1,
    onState({ state, mode, spokenHttp, reason, retryAt }) {
      const said = {
        open: `HTTP/${spokenHttp}`,
        opening: '',
        waiting: `${(retryAt ?? 0) - startAt}: ${reason}`,
      }
      heard.states.push(`${state} ${mode} ${said[state]}`.trim())
    },
    onMessage: ({ seq }) => void heard.messages.push(seq),
    onPresence: ({ windows }) => void heard.windows.push(windows),
    onOutbox: (unstored) => void heard.unstored.push(unstored),
    onStored: (id, seq) => void heard.stored.push(`${id} as ${seq}`),
    onRefused: (id, sentence) => void heard.refused.push(`${id}: ${sentence}`),
  })
  const newest = (): FakeStream => streams.at(-1) ?? assert.fail('nothing was opened')
  const publish = (html = '') => link.publish('main', 'edit', { html })
  return { link, time, streams, newest, heard, publish }
}
