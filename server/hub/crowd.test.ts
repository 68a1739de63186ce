import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../wire/manual-time.ts'
import { createCrowd } from './crowd.ts'
import { createFakeConnection, type FakePlace } from './testing.ts'
import { createWindow, type Window } from './window.ts'

function gather() {
  const time = createManualTime()
  const crowd = createCrowd(time)
  const fail = () => assert.fail('no window overflows or fails here')
  const windowOf = (place: FakePlace): Window =>
    createWindow(createFakeConnection(place).joining, 1000, { onOverflow: fail, onFailure: fail })
  return {
    time,
    crowd,
    windowOf,
    enter(place: FakePlace) {
      const window = windowOf(place)
      return { window, joined: crowd.join(window) }
    },
    ask: (place: FakePlace) => crowd.polled(createFakeConnection(place).joining),
    on: (channel: string) => [...crowd.windowOn(channel)],
  }
}

test('knows its windows by id and by channel', () => {
  const { crowd, enter, on } = gather()
  const { window: one } = enter({ id: 'w1', channels: ['main', 'wind'] })
  const { window: two } = enter({ id: 'w2', channels: ['other', 'wind'] })
  assert.deepEqual([on('main'), on('wind'), on('nowhere')], [[one], [one, two], []])
  assert.deepEqual([crowd.find('w2')?.window, crowd.find('w3'), crowd.size()], [two, undefined, 2])
})

test('forgets who leaves everywhere, once, and keeps no channel that nobody is on', () => {
  const { crowd, enter, on } = gather()
  const { window: one } = enter({ id: 'w1', channels: ['main', 'wind'] })
  const { window: two } = enter({ id: 'w2', channels: ['wind'] })
  assert.deepEqual([crowd.leave(one), crowd.leave(one)], [true, false])
  assert.deepEqual([on('main'), on('wind'), crowd.size()], [[], [two], 1])
  crowd.leave(two)
  const nobody = crowd.windowOn('nowhere')
  for (const channel of ['main', 'wind']) assert.equal(crowd.windowOn(channel), nobody)
})

test('a newer stream takes the place of an older one, on the newer one’s channels', () => {
  const { crowd, enter, on } = gather()
  const { window: older } = enter({ opening: 1, channels: ['main'] })
  const { window: newer, joined } = enter({ opening: 2, channels: ['other'] })
  assert.equal(joined?.replaced, older)
  assert.deepEqual([on('main'), on('other'), crowd.size()], [[], [newer], 1])
})

test('of two streams of one opening the later one stays: a browser that came back by itself names no new one', () => {
  const { enter, on } = gather()
  const { window: first } = enter({ opening: 1 })
  const { window: again, joined } = enter({ opening: 1 })
  assert.deepEqual([joined?.replaced, on('main')], [first, [again]])
})

test('an older stream that arrives late takes nobody’s place', () => {
  const { crowd, enter, on } = gather()
  const { window: newer } = enter({ opening: 2 })
  const { window: late, joined } = enter({ opening: 1, channels: ['other'] })
  assert.equal(joined, null)
  assert.deepEqual([on('main'), on('other'), crowd.leave(late), crowd.size()], [[newer], [], false, 1])
})

test('a replaced stream that leaves does not take the newer one with it', () => {
  const { crowd, enter, on } = gather()
  const { window: older } = enter({ opening: 1 })
  const { window: newer } = enter({ opening: 2 })
  assert.equal(crowd.leave(older), false)
  assert.deepEqual([on('main'), crowd.find('w1')?.window, crowd.size()], [[newer], newer, 1])
})

test('a window that polled and then has a stream, and polls again once that is gone, is one all along', () => {
  const { crowd, enter, ask, on } = gather()
  ask({ id: 'w1' })
  assert.deepEqual([crowd.size(), crowd.pollers(), on('main')], [1, 1, []])
  const { window, joined } = enter({ id: 'w1' })
  assert.deepEqual([joined?.replaced, crowd.size(), crowd.pollers(), on('main')], [null, 1, 0, [window]])
  assert.equal(ask({ id: 'w1' }), null, 'a late question does not take the stream’s place')
  assert.equal(crowd.left('w1'), false)
  crowd.leave(window)
  assert.equal(ask({ id: 'w1' })?.window, null)
  assert.deepEqual([crowd.size(), crowd.pollers(), on('main')], [1, 1, []])
})

test('a polling window that asks again keeps what is known of it', () => {
  const { time, crowd, ask } = gather()
  const guest = ask({ id: 'w1' })
  assert.ok(guest)
  guest.carries = new Map([['main', 3]])
  guest.toldPresence = 'told'
  time.advance(500)
  const again = ask({ id: 'w1', channels: ['other'] })
  assert.deepEqual([again?.carries, again?.toldPresence, again?.heardAt], [guest.carries, 'told', time.now()])
  assert.deepEqual([...(crowd.find('w1')?.visitor.channels ?? [])], ['other'])
})

test('a window of another browser that bears the same name takes nobody’s place, however new it is', () => {
  for (const [mine, another] of [
    ['b1', 'b2'],
    ['b1', null],
    [null, 'b1'],
  ] as const) {
    const { enter, on } = gather()
    const { window } = enter({ opening: 1, browser: mine })
    assert.equal(enter({ opening: 9, browser: another }).joined, null)
    assert.deepEqual(on('main'), [window])
    assert.equal(enter({ opening: 2, browser: mine }).joined?.replaced, window)
  }
})

test('a question that comes after its window’s farewell brings nobody back, one of a later opening does', () => {
  const { time, crowd, ask } = gather()
  ask({ id: 'w1', opening: 3 })
  assert.equal(crowd.left('w1', 3), true)
  assert.deepEqual(
    [ask({ id: 'w1', opening: 3 }), ask({ id: 'w1', opening: 2 }), crowd.size()],
    [null, null, 0],
  )
  assert.ok(ask({ id: 'w1', opening: 4 }))
  crowd.left('w1', 4)
  time.advance(1001)
  crowd.forgetSilent(1000)
  assert.ok(ask({ id: 'w1', opening: 4 }), 'a farewell is remembered for as long as silence is borne')
})

test('says goodbye to polling windows alone, once', () => {
  const { crowd, enter, ask } = gather()
  ask({ id: 'w1' })
  enter({ id: 'w2' })
  assert.deepEqual(
    ['w1', 'w1', 'w2', 'w3'].map((id) => crowd.left(id)),
    [true, false, false, false],
  )
  assert.equal(crowd.size(), 1)
})

test('forgets polling windows that fell silent, and no stream', () => {
  const { time, crowd, enter, ask } = gather()
  const { window } = enter({ id: 'w1' })
  const guest = crowd.find('w1')
  assert.ok(guest)
  guest.heardAt = time.now()
  ask({ id: 'w2' })
  ask({ id: 'w3' })
  time.advance(600)
  ask({ id: 'w3' })
  time.advance(400)
  assert.equal(crowd.forgetSilent(1000), 0)
  time.advance(1)
  assert.equal(crowd.forgetSilent(1000), 1)
  assert.deepEqual([crowd.find('w2'), crowd.find('w1')?.window, crowd.pollers()], [undefined, window, 1])
})

test('a polling window whose question is held is silent only after that', () => {
  const { time, crowd, ask } = gather()
  const guest = crowd.polled(createFakeConnection({ id: 'w1' }).joining, 5000)
  assert.ok(guest)
  time.advance(6000)
  assert.equal(crowd.forgetSilent(1000), 0)
  guest.quietUntil = null
  assert.equal(crowd.forgetSilent(1000), 1)
  ask({ id: 'w1' })
  assert.equal(crowd.forgetSilent(1000), 0)
})

test('cleared, it is empty', () => {
  const { crowd, enter, ask, on } = gather()
  enter({ id: 'w1' })
  ask({ id: 'w2' })
  crowd.clear()
  assert.deepEqual([crowd.size(), [...crowd.all()], on('main')], [0, [], []])
})
