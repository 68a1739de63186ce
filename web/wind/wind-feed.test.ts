// Readings reach the store; the hour before them is requested from the server when needed.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ViewName } from '../../app/shared/views.ts'
import { type PastWind, readSnapshot, WindHistory } from '../../app/shared/wind-history.ts'
import { assertNear, fault, measured, startAt } from '../../app/shared/wind-testing.ts'
import type { Bodies, Message } from '../../protocol/messages.ts'
import { createStore, firstView, type HistoryMinutes, type ShownLink } from '../store.ts'
import { createWindFeed, fillInPast } from './wind-feed.ts'

function message<K extends 'reading' | 'sensor'>(kind: K, seq: number, body: Bodies[K]): Message {
  const at = startAt + seq * 250
  return { id: `sensor-${seq}`, channel: 'wind', kind, from: 'sensor', at, acceptedAt: at, seq, body }
}

function feeding() {
  const store = createStore(firstView('sse/2'))
  const feed = createWindFeed(store, {
    now: () => 0,
    later: (run) => clearImmediate.bind(null, setImmediate(run)),
  })
  return { store, feed, take: feed.handle }
}

/** The server's answer if it has these readings, newest last. */
function serverPast(from: number, to: number, ...faults: number[]): PastWind {
  const history = new WindHistory()
  for (let seq = from; seq <= to; seq += 1)
    history.take(faults.includes(seq) ? fault : measured(6, 90), startAt + seq * 250)
  const faultAt = faults.includes(to) ? startAt + to * 250 : null
  return readSnapshot(JSON.parse(JSON.stringify(history.snapshot({ seq: to, faultAt }))))
}

test('a reading is shown with its figures, and the sensor is unchanged', () => {
  const { store, take } = feeding()
  take(message('sensor', 1, { source: 'simulated', state: 'connected', sentence: 'Simulated.' }), 5)
  take(message('reading', 2, measured(6, 90)), 6)
  take(message('reading', 3, measured(8, 90)), 7)
  const { reading, receivedAt, takenAt, figures, sensor } = store.view().wind
  assert.equal(reading?.speed, 8)
  assert.deepEqual([receivedAt, takenAt], [7, startAt + 750])
  assert.equal(figures.tenMinutes?.speedMetresPerSecond, 7)
  assert.equal(sensor?.source, 'simulated')
})

test('a repeated reading counts once; an equal one counts again', () => {
  const { store, feed, take } = feeding()
  take(message('reading', 1, measured(6, 90)), 1)
  const shown = store.view().wind
  take(message('reading', 1, measured(6, 90)), 2)
  assert.equal(store.view().wind, shown)
  take(message('reading', 2, measured(6, 90)), 3)
  assert.equal(feed.history.since(0, 'reading').length, 2)
})

test('ignores edits', () => {
  const { store, take } = feeding()
  const before = store.view()
  take({ ...message('reading', 1, measured(6, 90)), kind: 'edit', body: { html: '' } }, 1)
  assert.equal(store.view(), before)
})

describe('the hour before', () => {
  const ask = (past: PastWind) => async () => past
  const reading = (seq: number, speed = 6) => message('reading', seq, measured(speed, 90))
  const counted = ({ history }: { history: ReturnType<typeof feeding>['feed']['history'] }) =>
    history.since(0, 'second').reduce((sum, { sums }) => sum + sums.count, 0)
  const gaps = ({ history }: { history: ReturnType<typeof feeding>['feed']['history'] }) =>
    history.since(0, 'second').filter(({ startsAnew }) => startsAnew).length

  test('the past is inserted before current readings, each reading once, and figures cover all of them', async () => {
    const { store, feed, take } = feeding()
    take(reading(2399), 1)
    take(reading(2400), 2)
    let answer: (past: PastWind) => void = () => undefined
    const isDone = feed.lookBack(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    )
    // A reading that the answer has, and one that it lacks.
    take(reading(2401), 3)
    take(reading(2402, 8), 4)
    answer(serverPast(1, 2401))
    // A reading that arrives while the past is being inserted.
    take(reading(2403, 8), 5)
    assert.equal(await isDone, true)
    take(reading(2404, 8), 6)
    assert.deepEqual([counted(feed), gaps(feed)], [2404, 1])
    const { figures, takenAt, receivedAt } = store.view().wind
    assert.deepEqual([takenAt, receivedAt], [startAt + 2404 * 250, 6])
    assertNear(figures.tenMinutes?.speedMetresPerSecond, 6 + (2 * 3) / 2401, 2e-4)
    assertNear(figures.tenMinutes?.coversMs, 600_000, 2600)
  })

  test('readings that arrive after the answer that contains them are shown and not counted again', async () => {
    const { store, feed, take } = feeding()
    await feed.lookBack(ask(serverPast(1, 40)))
    take(reading(39), 7)
    take(reading(40), 8)
    take(reading(41), 9)
    assert.deepEqual([counted(feed), gaps(feed)], [41, 1])
    assert.deepEqual([store.view().wind.receivedAt, store.view().wind.takenAt], [9, startAt + 41 * 250])
  })

  test('a gap caused by this window is filled, one caused by the sensor stays', async () => {
    const { feed, take } = feeding()
    for (let seq = 1; seq <= 40; seq += 1) take(reading(seq), seq)
    for (let seq = 400; seq <= 440; seq += 1) take(reading(seq), seq)
    assert.equal(gaps(feed), 2)
    await feed.lookBack(ask(serverPast(1, 440, 100)))
    assert.deepEqual([counted(feed), gaps(feed)], [439, 2])
    assert.equal(feed.history.since(startAt + 60_000, 'second')[0]?.startsAnew, false)
  })

  test('readings that this window has and the server lost stay', async () => {
    const { feed, take } = feeding()
    for (let seq = 1; seq <= 40; seq += 1) take(reading(seq), seq)
    await feed.lookBack(ask(serverPast(41, 60)))
    assert.deepEqual([counted(feed), gaps(feed)], [60, 1])
  })

  test('if the newest past entry is a fault, it separates past and current readings', async () => {
    const { feed, take } = feeding()
    await feed.lookBack(ask(serverPast(1, 40, 40)))
    take(reading(41), 1)
    assert.deepEqual([counted(feed), gaps(feed)], [40, 2])
  })

  test('no answer, an empty one, or an overtaken one changes nothing', async () => {
    const { store, feed, take } = feeding()
    take(reading(1), 1)
    const before = store.view()
    assert.equal(await feed.lookBack(() => Promise.reject(new Error('503'))), false)
    assert.equal(
      await feed.lookBack(ask(readSnapshot(new WindHistory().snapshot({ seq: 0, faultAt: null })))),
      true,
    )
    const overtaken = feed.lookBack(ask(serverPast(1, 40)))
    feed.newLog()
    assert.equal(await overtaken, false)
    assert.equal(store.view(), before)
  })

  test('in a new log, whose numbers restart, every reading counts', async () => {
    const { feed, take } = feeding()
    await feed.lookBack(ask(serverPast(1, 40)))
    feed.newLog()
    take({ ...reading(41), seq: 1 }, 1)
    assert.equal(counted(feed), 41)
  })
})

test("without a sensor, an earlier sensor's past is not shown, and a new sensor's readings are", () => {
  const { store, feed, take } = feeding()
  const before = [
    message('sensor', 1, { source: 'serial', state: 'connected', sentence: 'It was.' }),
    message('reading', 2, measured(6, 90)),
  ]
  feed.leaveOut(before)
  for (const old of before) take(old, 5)
  const { hasSensor, reading, sensor, receivedAt } = store.view().wind
  assert.deepEqual([hasSensor, reading, sensor, receivedAt], [false, null, null, null])
  take(message('sensor', 3, { source: 'simulated', state: 'connected', sentence: 'Simulated.' }), 6)
  assert.equal(store.view().wind.hasSensor, true)
  take(message('reading', 4, measured(8, 90)), 7)
  assert.equal(store.view().wind.reading?.speed, 8)
})

describe('asking for the hour before', () => {
  function watching(view: ViewName = 'write') {
    const store = createStore(firstView('sse/2', { name: view, notice: null }))
    const time = { now: 1_000_000 }
    let asked = 0
    let weeks = 0
    let answers = true
    fillInPast({
      store,
      ask: () => Promise.reject(new Error('The feed asks.')),
      askWeek: () => Promise.reject(new Error('The feed asks.')),
      now: () => time.now,
      feed: {
        async lookBack() {
          asked += 1
          return answers
        },
        async lookBackWeek() {
          weeks += 1
          return answers
        },
      },
    })
    const link = async (state: ShownLink['state']) => {
      store.change({ link: { ...store.view().link, state } })
      await null
    }
    return {
      store,
      time,
      link,
      asked: () => asked,
      weeks: () => weeks,
      choose: (minutes: HistoryMinutes) => {
        const { wind } = store.view()
        store.change({ wind: { ...wind, choices: { ...wind.choices, minutes } } })
      },
      fail: (fails: boolean) => {
        answers = !fails
      },
      show: (name: ViewName) => store.change({ shown: { name, notice: null } }),
      hear: () => store.change({ wind: { ...store.view().wind, receivedAt: time.now } }),
    }
  }

  test('once, when the link is open, whatever else changes', async () => {
    const { link, asked, hear } = watching()
    assert.equal(asked(), 0)
    await link('open')
    hear()
    await link('opening')
    await link('open')
    assert.equal(asked(), 1)
  })

  test('the week once it is to be shown, and again while the server still reads it', async () => {
    const { link, weeks, choose, fail, time, hear } = watching()
    choose(1440)
    await link('open')
    fail(true)
    hear()
    await null
    hear()
    assert.equal(weeks(), 1)
    time.now += 5000
    fail(false)
    hear()
    await null
    time.now += 60_000
    hear()
    assert.equal(weeks(), 2)
  })

  test('not the week while an hour is shown', async () => {
    const { link, weeks, hear } = watching()
    await link('open')
    hear()
    assert.equal(weeks(), 0)
  })

  test('not while nothing that has a history is shown', async () => {
    const { link, show, asked } = watching('editor')
    await link('open')
    show('monitor')
    assert.equal(asked(), 0)
    show('wind')
    show('write')
    assert.equal(asked(), 1)
  })

  test('again at an opening after a long absence, not after a short one', async () => {
    const { link, hear, time, asked } = watching()
    await link('open')
    hear()
    for (const [absentMs, times] of [
      [59_000, 1],
      [61_000, 2],
    ] as const) {
      await link('waiting')
      time.now += absentMs
      await link('opening')
      assert.equal(asked(), 1)
      await link('open')
      assert.equal(asked(), times)
      hear()
    }
  })

  test('without an answer, again at the next opening and not before', async () => {
    const { link, hear, fail, asked } = watching()
    fail(true)
    await link('open')
    hear()
    hear()
    assert.equal(asked(), 1)
    fail(false)
    await link('waiting')
    await link('open')
    await link('waiting')
    await link('open')
    assert.equal(asked(), 2)
  })

  test('not while there is no sensor, but as soon as there is one', async () => {
    const { store, link, asked } = watching()
    const wind = (hasSensor: boolean) => store.change({ wind: { ...store.view().wind, hasSensor } })
    wind(false)
    await link('open')
    assert.equal(asked(), 0)
    wind(true)
    assert.equal(asked(), 1)
  })
})
