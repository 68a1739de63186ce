// Finds the mode that suits everyone on a network, and says why.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modeNamed, modes, windowModeNamed } from '../../protocol/modes.ts'
import { choiceReason, choices, diagnoseStreams, drawback, type Trial } from './diagnosis.ts'

/** These modes get through; those in `cut` are cut when idle. */
const trialsOf = (names: readonly string[], cut: readonly string[] = []) =>
  modes.map(
    (mode): Trial => ({
      mode,
      serverHttp: mode.http,
      closing: null,
      openMs: names.includes(mode.name) ? 5 : null,
      roundTripMs: 1,
      cutAfterMs: cut.includes(mode.name) ? 10_000 : null,
    }),
  )

function chosenOf(names: readonly string[], cut: readonly string[]) {
  const [best] = choices(trialsOf(names, cut))
  assert.ok(best)
  return [best.mode.name, choiceReason(best)]
}

test("the reason names the mode's advantage, or what did not get through", () => {
  const all = modes.map(({ name }) => name)
  const overHttp1 = all.filter((name) => name.endsWith('/1.1'))
  for (const [names, cut, name, reason] of [
    [
      all,
      [],
      'sse/2',
      /it works in every browser, it delivers at once, and all windows of a browser share one connection/,
    ],
    [overHttp1, [], 'websocket/1.1', /it works in every browser, .* any number of windows/],
    [
      ['sse/1.1', 'polling/1.1'],
      [],
      'sse/1.1',
      /delivers at once, and nothing that allows more windows gets through/,
    ],
    [
      ['long-polling/1.1', 'polling/1.1'],
      [],
      'long-polling/1.1',
      /no stream gets through, so windows have to poll/,
    ],
    [['streaming/2', 'websocket/2'], [], 'websocket/2', /nothing that works in every browser gets through/],
    [all, ['sse/2', 'sse/1.1'], 'websocket/1.1', /it works in every browser/],
    [all, all, 'sse/2', /it delivers at once, even though idle connections are cut/],
  ] as const) {
    const [chosen, words] = chosenOf(names, cut)
    assert.equal(chosen, name)
    assert.match(String(words), reason)
  }
})

test('without a mode that gets through there is no choice', () => {
  assert.deepEqual(choices(trialsOf([])), [])
})

test('streams are named by their modes, also when none gets through', () => {
  assert.equal(diagnoseStreams(trialsOf(['streaming/2', 'websocket/2'])), 'Streams flow: streaming/2.')
  assert.equal(
    diagnoseStreams(trialsOf(['websocket/1.1'])),
    'No stream gets through (sse/2, sse/1.1, streaming/2).',
  )
})

test('names the drawback that keeps a faster mode from being chosen for everyone', () => {
  const drawbackOf = (name: string) => drawback(modeNamed(name) ?? assert.fail(name))
  assert.equal(drawbackOf('sse/2'), null)
  assert.match(drawbackOf('websocket/1.1') ?? '', /connection per window/)
  assert.match(drawbackOf('sse/1.1') ?? '', /few connections/)
  assert.match(drawbackOf('long-polling/2') ?? '', /request per message/)
  assert.match(drawback(windowModeNamed('sse/3') ?? assert.fail()) ?? '', /not every network/)
  for (const name of ['websocket/2', 'streaming/2']) assert.match(drawbackOf(name) ?? '', /not every browser/)
})
