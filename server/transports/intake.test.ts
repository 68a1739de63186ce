import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Hub } from '../hub/hub.ts'
import { countTo, type HubChange, openHub, settled } from '../hub/testing.ts'
import { Refusal } from '../refusal.ts'
import { type Grant, openGrant } from '../security/grant.ts'
import type { DownFrame } from '../wire/frames.ts'
import { createIntake } from './intake.ts'

const draftOf = (n: number, change: object = {}) => ({
  id: `w1-${n}`,
  channel: 'main',
  kind: 'edit',
  from: 'w1',
  at: 1000,
  body: { html: '' },
  ...change,
})
const publish = (n: number, change: object = {}) =>
  JSON.stringify({ type: 'publish', message: draftOf(n, change) })
const heartbeat = JSON.stringify({ type: 'heartbeat' })
const clock = JSON.stringify({ type: 'clock', at: 1000.5 })

interface Change extends HubChange {
  readonly grant?: Grant
  readonly maxMessageBytes?: number
  readonly instead?: Partial<Hub>
}

async function openIntake({ grant = openGrant, maxMessageBytes = 2000, instead, ...change }: Change = {}) {
  const opened = openHub(change)
  const { connection } = opened.enter({ id: 'w1' })
  await settled()
  const answers: DownFrame[] = []
  const flow: string[] = []
  const intake = createIntake({
    hub: { ...opened.hub, ...instead },
    timers: opened.time,
    grant,
    window: 'w1',
    maxMessageBytes,
    answer: (frame) => void answers.push(frame),
    pause: () => void flow.push('pause'),
    resume: () => void flow.push('resume'),
  })
  /** What was answered, as `stored ID` or `CODE ID`. */
  const said = () =>
    answers.map((frame) => {
      if (frame.type === 'stored') return `stored ${frame.id}`
      return frame.type === 'refused' ? `${frame.code} ${frame.id}` : frame.type
    })
  const numbers = () =>
    connection.frames.flatMap((frame) =>
      frame.type === 'message' ? [Number(frame.message.id.slice(3))] : [],
    )
  return { ...opened, connection, intake, answers, flow, said, numbers }
}

test('what comes is stored and answered', async () => {
  const { intake, answers, numbers } = await openIntake()
  intake.take(publish(1))
  await settled()
  assert.deepEqual([answers, numbers()], [[{ type: 'stored', id: 'w1-1', seq: 1 }], [1]])
})

const misfits: [text: string, answer: string][] = [
  ['', 'not-json null'],
  ['{', 'not-json null'],
  ['null', 'bad-frame null'],
  ['7', 'bad-frame null'],
  ['[]', 'bad-frame null'],
  ['{"type":"publish"}', 'bad-frame null'],
  ['{"type":"bye"}', 'bad-frame null'],
  ['{"message":{}}', 'bad-frame null'],
  ['{"type":"publish","message":null}', 'bad-shape null'],
  [publish(1, { at: 'now' }), 'bad-shape w1-1'],
  [publish(1, { id: 'a b' }), 'bad-shape null'],
  [publish(1, { channel: 'wind' }), 'read-only-channel w1-1'],
  [publish(1, { channel: 'secret' }), 'not-invited-there w1-1'],
  [publish(1, { body: { html: 'x'.repeat(3000) } }), 'too-large w1-1'],
  [publish(1, { body: { html: '💨'.repeat(600) } }), 'too-large w1-1'],
  ['{"type":"heartbeat","windows":{"main":-1}}', 'bad-shape null'],
  ['{"type":"heartbeat","windows":[]}', 'bad-shape null'],
  ['{"type":"clock"}', 'bad-shape null'],
  ['{"type":"clock","at":"now"}', 'bad-shape null'],
  ['{"type":"clock","at":1e999}', 'bad-shape null'],
]

for (const [text, answer] of misfits) {
  test(`refuses by name what does not fit, and goes on: ${text.slice(0, 80)}`, async () => {
    const grant: Grant = { channels: new Set(['main']), may: 'write', expiresAt: null }
    const { intake, said } = await openIntake({ grant })
    intake.take(text)
    intake.take(publish(2))
    await settled()
    assert.deepEqual(said(), [answer, 'stored w1-2'])
  })
}

test('who may only read is refused', async () => {
  const { intake, said } = await openIntake({ grant: { ...openGrant, may: 'read' } })
  intake.take(publish(1))
  await settled()
  assert.deepEqual(said(), ['read-only-invitation w1-1'])
})

test('answers in the order of what came, though storing takes a while and refusing does not', async () => {
  const storing: (() => void)[] = []
  const slow: Hub['publish'] = ({ id }) =>
    new Promise((resolve) => storing.push(() => resolve({ type: 'stored', id, seq: 1 })))
  const { intake, said } = await openIntake({ instead: { publish: slow } })
  intake.take(publish(1))
  intake.take('{')
  intake.take(publish(2))
  intake.refuse(new Refusal(415, 'wrong-type', 'Frames are texts.'))
  storing[1]?.()
  await settled()
  assert.deepEqual(said(), [])
  storing[0]?.()
  await settled()
  assert.deepEqual(said(), ['stored w1-1', 'not-json null', 'stored w1-2', 'wrong-type null'])
})

test('what the server failed on is named, and its reason stays in the terminal', async (t) => {
  const { mock } = t.mock.method(console, 'error', () => undefined)
  const { intake, answers } = await openIntake({
    instead: { publish: () => Promise.reject(new Error('no disk')) },
  })
  intake.take(publish(1))
  await settled()
  const message = 'The server failed on that frame.'
  assert.deepEqual(answers, [{ type: 'refused', id: 'w1-1', code: 'internal', message, retryAfterMs: 1000 }])
  assert.match(String(mock.calls[0]?.arguments[0]), /no disk/)
})

test('a sender that is too fast is held back: not a message is lost, refused or out of order', async () => {
  const { intake, time, flow, said, numbers } = await openIntake({ messagesPerSecond: 10 })
  for (const n of countTo(30)) intake.take(publish(n))
  await settled()
  assert.deepEqual([numbers(), flow], [countTo(10), ['pause']])
  time.advance(1000)
  await settled()
  assert.deepEqual([numbers(), flow], [countTo(20), ['pause']])
  // What had arrived when the connection was paused comes all the same, and stands behind.
  intake.take(publish(31))
  time.advance(1100)
  await settled()
  assert.deepEqual(numbers(), countTo(31))
  assert.deepEqual(flow, ['pause', 'resume'])
  assert.deepEqual(
    said(),
    countTo(31).map((n) => `stored w1-${n}`),
  )
})

test('each pause is followed by one resume, however often it has to wait', async () => {
  const { intake, time, flow, numbers } = await openIntake({ messagesPerSecond: 5 })
  let n = 0
  for (const round of countTo(40)) {
    for (const _one of countTo(round % 4)) {
      n += 1
      intake.take(publish(n))
    }
    time.advance(250)
  }
  time.advance(60_000)
  await settled()
  assert.deepEqual(numbers(), countTo(n))
  assert.ok(flow.length > 4)
  flow.forEach((word, place) => {
    assert.equal(word, place % 2 === 0 ? 'pause' : 'resume')
  })
  assert.equal(flow.at(-1), 'resume')
})

test('what is no message counts as much as one', async () => {
  const { intake, flow, said } = await openIntake({ messagesPerSecond: 4 })
  for (const text of ['{', heartbeat, '7', clock, publish(1)]) intake.take(text)
  await settled()
  assert.deepEqual([said(), flow], [['clock', 'not-json null', 'bad-frame null'], ['pause']])
})

test('who asks for the time is told it at once, beside its own stamp', async () => {
  const storing: Hub['publish'] = () => new Promise(() => undefined)
  const { intake, time, answers } = await openIntake({ instead: { publish: storing } })
  intake.take(publish(1))
  time.advance(250)
  intake.take(clock)
  assert.deepEqual(answers, [{ type: 'clock', sent: 1000.5, received: time.now(), at: time.now() }])
})

test('a flood of questions for the time is held back like all else', async () => {
  const { intake, time, flow, answers } = await openIntake({ messagesPerSecond: 10 })
  for (const _one of countTo(30)) intake.take(clock)
  assert.deepEqual([answers.length, flow], [10, ['pause']])
  time.advance(1000)
  assert.equal(answers.length, 20)
})

test('a sign of life is heard, with the windows that it speaks for', async () => {
  const heard: unknown[] = []
  const { intake, said } = await openIntake({ instead: { heard: (...words) => void heard.push(words) } })
  intake.take(heartbeat)
  intake.take('{"type":"heartbeat","windows":{"main":2}}')
  await settled()
  assert.deepEqual(heard.at(0), ['w1', undefined])
  assert.deepEqual(heard.at(-1), ['w1', { main: 2 }])
  assert.deepEqual(said(), [])
})

test('a window that has beaten and is held back is not silent: its frames are signs of life too', async () => {
  const { hub, intake, time, connection } = await openIntake({ messagesPerSecond: 1, heartbeatMs: 1600 })
  intake.take(heartbeat)
  for (const n of countTo(20)) intake.take(publish(n))
  time.advance(20_000)
  assert.deepEqual([connection.byes, hub.windowCount()], [[], 1])
  time.advance(4500)
  assert.equal(connection.byes[0]?.code, 'silent')
})

test('a window that has never beaten is not asked to go on because it sends', async () => {
  const { intake, time, connection } = await openIntake()
  intake.take(publish(1))
  time.advance(100_000)
  assert.deepEqual(connection.byes, [])
})

test('stopped, it takes nothing more and leaves nothing behind', async () => {
  const { intake, time, flow, numbers } = await openIntake({ messagesPerSecond: 2 })
  time.advance(500)
  const before = time.pending()
  for (const n of countTo(5)) intake.take(publish(n))
  assert.equal(time.pending(), before + 1)
  intake.stop()
  assert.equal(time.pending(), before)
  time.advance(10_000)
  await settled()
  assert.deepEqual([numbers(), flow], [[1, 2], ['pause']])
})
