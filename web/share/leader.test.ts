// Windows without a SharedWorker, with real Web Locks and BroadcastChannels: one leads, and the next one after it.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createLeading } from './leader.ts'
import type { Line } from './line.ts'
import type { Place } from './place.ts'
import type { ToPlace } from './port.ts'

const opened: (() => void)[] = []
after(() => {
  for (const close of opened) close()
})

const word = { type: 'leave', member: 1 } as const satisfies ToPlace

async function until(holds: () => boolean, otherwise: string): Promise<void> {
  for (let tries = 0; !holds(); tries += 1) {
    assert.ok(tries < 2000, otherwise)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Windows of one name; each notes what its own place was told, if it leads. */
function openWindows(name: string) {
  return (window: string) => {
    const told: string[] = []
    const gone: string[] = []
    const heard: string[] = []
    let isOpen = false
    let isGone = 0
    const place: Place = {
      attach: (post) => ({
        hear({ type, member }) {
          told.push(type)
          post({ type: 'frame', member, frame: { type: 'heartbeat', newest: 0 } })
        },
        gone: () => void gone.push(window),
      }),
      close() {
        isOpen = false
      },
    }
    // The window's own sign of life.
    const { promise, resolve: die } = Promise.withResolvers<void>()
    const alive = `${name} ${window} alive`
    void navigator.locks.request(alive, () => promise)
    const leading = createLeading({
      name,
      window: alive,
      locks: navigator.locks,
      openPlace() {
        isOpen = true
        return place
      },
      newName: () => `place of ${window}`,
    })
    opened.push(leading.close, die)
    const reach = (): Promise<Line> =>
      leading.reach({
        onSaid: ({ type }) => void heard.push(type),
        onGone() {
          isGone += 1
        },
      })
    return { ...leading, reach, told, gone, heard, leads: () => isOpen, isGone: () => isGone, die }
  }
}

test('the first window leads, itself served like the others', async () => {
  const open = openWindows('first')
  const [one, two] = [open('one'), open('two')]
  for (const window of [one, two]) (await window.reach()).post(word)
  await until(() => one.told.length === 2, 'the leader did not hear both')
  await until(() => one.heard.length + two.heard.length === 2, 'not both were answered')
  assert.deepEqual([one.leads(), two.leads()], [true, false])
})

test('the leader goes: the next one leads, and all know that the old place is gone', async () => {
  const open = openWindows('next')
  const [one, two, three] = [open('one'), open('two'), open('three')]
  for (const window of [one, two, three]) await window.reach()
  one.close()
  await until(() => two.isGone() + three.isGone() === 2, 'the others did not notice')
  assert.deepEqual([one.leads(), two.leads(), three.leads()], [false, true, false])
  ;(await three.reach()).post(word)
  await until(() => three.heard.length === 1, 'the new leader did not answer')
})

test('a window that vanishes without a word is noticed by its lock', async () => {
  const open = openWindows('vanished')
  const [one, two] = [open('one'), open('two')]
  await one.reach()
  ;(await two.reach()).post(word)
  await until(() => one.told.length === 1, 'the leader did not hear it')
  two.die()
  await until(() => one.gone.length === 1, 'the leader did not notice')
})

test('a leader that resigned before a freeze stands again after it', async () => {
  const open = openWindows('frozen')
  const one = open('one')
  await one.reach()
  one.resign()
  await until(() => !one.leads(), 'it still leads')
  one.stand()
  await until(() => one.leads(), 'it does not lead again')
})
