// A draft is sent as the user who wrote it, or not at all, whoever signs in meanwhile.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Draft, Stored } from '../protocol/messages.ts'
import { createManualTime } from '../protocol/testing.ts'
import { keptPolicy, mergingPolicy } from './document-policy.ts'
import { DraftKeeper } from './draft-keeper.ts'
import { Outbox, type OutboxPolicy, plainPolicy, usualBounds } from './outbox.ts'
import { createBrowser, openLink, settled } from './testing.ts'
import type { RefusedError } from './transports/transport.ts'

const merged = (policy: OutboxPolicy) =>
  mergingPolicy(policy, {
    minQueued: 1,
    mergeUpdates: (updates) => ({ update: updates.map(({ update }) => update).join('+') }),
  })

/** A window's outbox; with a browser, it keeps what is unstored there. */
function openOutbox({
  browser,
  window = 'w1',
}: {
  browser?: ReturnType<typeof createBrowser>
  window?: string
} = {}) {
  const time = createManualTime(0)
  const heard: string[] = []
  const policy = browser ? keptPolicy({ window, bounds: usualBounds, random: Math.random }) : plainPolicy()
  const outbox = new Outbox({ window, timers: time }, merged(policy), {
    onOutbox: () => undefined,
    onStored: ({ id }) => void heard.push(`${id} stored`),
    onRefused: ({ id }, _sentence, code) => void heard.push(`${id} ${code}`),
    onAdopted: (drafts) => void heard.push(...drafts.map(({ id }) => `${id} adopted`)),
  })
  const keeper =
    browser &&
    new DraftKeeper(outbox, {
      window,
      timers: time,
      savesOnClose: true,
      store: browser.open(window, {
        onLeft: (drafts) => keeper?.adopt(drafts, true),
        isOwn: (one) => !outbox.isOthers(one),
      }).store,
    })
  return {
    outbox,
    heard,
    say: (data: unknown) => outbox.publish('main', 'json', { data })?.id,
    write: (update: string) => outbox.publish('main', 'update', { update })?.id,
    /** Opens a stream as this user, and returns the ids of what is sent over it, which is not answered. */
    async connect(user?: string | null) {
      const sent: string[] = []
      const send = ({ id, body }: Draft) => {
        sent.push('update' in body ? `${id} ${body.update}` : id)
        return new Promise<Stored>(() => undefined)
      }
      outbox.connect(send, 32, () => undefined, user)
      await settled()
      return sent
    },
  }
}

test('what one user wrote is refused when another is welcomed, and what that one writes is sent', async () => {
  const { outbox, heard, say, connect } = openOutbox()
  await connect('ann')
  assert.deepEqual([say(1), say(2)], ['w1-1', 'w1-2'])
  outbox.disconnect()
  say(3)
  const sent = await connect('ben')
  assert.deepEqual(heard, ['w1-1 other-user', 'w1-2 other-user', 'w1-3 other-user'])
  say(4)
  assert.deepEqual([sent, outbox.state.unstored], [['w1-4'], 1])
})

test('it is refused, too, when the application names nobody any more', async () => {
  const { outbox, heard, say, connect } = openOutbox()
  await connect('ann')
  say(1)
  outbox.disconnect()
  assert.deepEqual([await connect(null), heard], [[], ['w1-1 other-user']])
})

test('a renewed session of the same user refuses nothing, and sends again in order', async () => {
  const { outbox, heard, say, connect } = openOutbox()
  await connect('ann')
  say(1)
  say(2)
  outbox.disconnect()
  say(3)
  assert.deepEqual([await connect('ann'), heard], [['w1-1', 'w1-2', 'w1-3'], []])
})

test('a server that names nobody, such as an older one, gets everything', async () => {
  const { outbox, heard, say, connect } = openOutbox()
  say(1)
  assert.deepEqual(await connect(null), ['w1-1'])
  outbox.disconnect()
  say(2)
  assert.deepEqual([await connect(null), heard], [['w1-1', 'w1-2'], []])
})

test('what was written before anybody was known belongs to the first who is', async () => {
  const { outbox, heard, say, connect } = openOutbox()
  say(1)
  await connect(null)
  outbox.disconnect()
  assert.deepEqual(await connect('ann'), ['w1-1'])
  outbox.disconnect()
  assert.deepEqual([await connect('ben'), heard], [[], ['w1-1 other-user']])
})

test('updates wait for their user, and none of another is merged into them', async () => {
  const { outbox, write, connect } = openOutbox({ browser: createBrowser() })
  await connect('ann')
  outbox.disconnect()
  write('a')
  write('b')
  assert.deepEqual(await connect('ben'), [])
  outbox.disconnect()
  write('c')
  assert.equal(outbox.state.unstored, 1)
  assert.deepEqual(await connect('ann'), ['w1-1 a+b'])
  outbox.disconnect()
  assert.deepEqual(await connect('ben'), ['w1-2 c'])
})

test('a page that ends sends only what its user wrote', async () => {
  const { outbox, write, connect } = openOutbox()
  await connect('ann')
  write('a')
  outbox.disconnect()
  await connect('ben')
  write('b')
  assert.deepEqual(
    outbox.leave().map(({ id }) => id),
    ['w1-2'],
  )
})

test('kept messages are refused, stay in the browser, and are sent when their user is back', async () => {
  const browser = createBrowser()
  const { outbox, heard, say, connect } = openOutbox({ browser })
  await connect('ann')
  say(1)
  outbox.disconnect()
  await connect('ben')
  say(2)
  outbox.disconnect()
  await settled()
  assert.deepEqual(heard, ['w1-1 other-user'])
  assert.deepEqual([outbox.state.unstored, outbox.state.persisted], [1, 1])
  assert.deepEqual(browser.ids(), ['w1-1', 'w1-2'])
  assert.deepEqual(await connect('ann'), ['w1-1'])
  await settled()
  assert.deepEqual(heard, ['w1-1 other-user', 'w1-2 other-user'])
})

/** A browser that has a message of Ann's closed window. */
async function leftByAnn() {
  const browser = createBrowser()
  const first = openOutbox({ browser, window: 'w1' })
  await first.connect('ann')
  first.say(1)
  first.outbox.disconnect()
  await settled()
  first.outbox.close()
  await browser.close('w1')
  return browser
}

test('a later window of another user does not get kept messages, and leaves them to their user', async () => {
  const browser = await leftByAnn()
  const second = openOutbox({ browser, window: 'w2' })
  assert.deepEqual([await second.connect('ben'), second.heard, second.outbox.state.unstored], [[], [], 0])
  const third = openOutbox({ browser, window: 'w3' })
  const sent = await third.connect('ann')
  await settled()
  assert.deepEqual([sent, third.heard], [['w1-1'], ['w1-1 adopted']])
})

test('a window that found kept messages before it knew its user does not send another’s', async () => {
  const browser = await leftByAnn()
  const second = openOutbox({ browser, window: 'w2' })
  second.outbox.keeper?.connected()
  await settled()
  assert.deepEqual([second.heard, second.outbox.state.unstored], [['w1-1 adopted'], 1])
  assert.deepEqual([await second.connect('ben'), second.outbox.state.unstored], [[], 0])
  second.outbox.disconnect()
  assert.deepEqual(await second.connect('ann'), ['w1-1'])
})

test('a window that learns its user at any moment while it takes kept messages sends no other’s', async () => {
  for (let turns = 0; turns < 20; turns += 1) {
    const browser = await leftByAnn()
    const second = openOutbox({ browser, window: 'w2' })
    second.outbox.keeper?.connected()
    for (let turn = 0; turn < turns; turn += 1) await null
    const sent = await second.connect('ben')
    await settled()
    assert.deepEqual([sent, second.outbox.state.unstored, browser.ids()], [[], 0, ['w1-1']], `${turns} turns`)
    second.outbox.disconnect()
    second.outbox.close()
    await browser.close('w2')
    const third = openOutbox({ browser, window: 'w3' })
    const sentByAnn = await third.connect('ann')
    await settled()
    assert.deepEqual(sentByAnn, ['w1-1'], `${turns} turns`)
  }
})

test('what is claimed by a user is kept as that user’s', async () => {
  const browser = createBrowser()
  const first = openOutbox({ browser, window: 'w1' })
  first.say(1)
  await first.connect('ann')
  first.outbox.disconnect()
  await settled()
  first.outbox.close()
  await browser.close('w1')
  const second = openOutbox({ browser, window: 'w2' })
  assert.deepEqual(await second.connect('ben'), [])
  await settled()
  assert.deepEqual(browser.ids(), ['w1-1'])
})

test('the link’s state names the user, and its last request does', () => {
  const last: string[] = []
  const { link, newest, heard, time, publish } = openLink({
    platform: {
      send: () => Promise.reject(new Error('There is no server.')),
      fetch(address) {
        last.push(address.split('?')[1] ?? '')
        return new Promise(() => undefined)
      },
    },
  })
  assert.equal(heard.newest?.user, undefined)
  newest().welcome({ user: 'ann' })
  assert.equal(heard.newest?.user, 'ann')
  link.setAwareness({ state: 'Ann is here' })
  newest().end()
  assert.deepEqual([heard.newest?.status, heard.newest?.user], ['waiting', 'ann'])
  time.advance(1000)
  newest().welcome({ user: 'ann' })
  assert.deepEqual(newest().reports, [{ state: 'Ann is here' }])
  newest().end()
  publish('a')
  link.close()
  assert.deepEqual(last, ['key=k1&user=ann'])
})

test('a window does not go on as another user by itself, but as its own once that is back', async () => {
  const denied: unknown[] = []
  const { link, newest, heard, time, publish, streams } = openLink({
    onDenied: (error) => void denied.push((error as RefusedError).code),
  })
  newest().welcome({ user: 'ann' })
  newest().end()
  publish('a')
  const reopen = () => {
    for (const before = streams.length; streams.length === before; ) time.advance(250)
  }
  for (const user of ['ben', null]) {
    reopen()
    newest().welcome(user === null ? {} : { user })
    await settled()
    assert.deepEqual([heard.newest?.status, heard.newest?.user, newest().sent], ['waiting', 'ann', []])
  }
  assert.deepEqual(denied, ['other-user', 'other-user'])
  reopen()
  newest().welcome({ user: 'ann' })
  assert.deepEqual([heard.newest?.status, newest().sent.length], ['open', 1])
  link.close()
})

test('requests beside a stream name the user who was welcomed', () => {
  const { newest } = openLink()
  newest().welcome({ user: 'ann' })
  assert.equal(newest().query.get('user'), 'ann')
})
