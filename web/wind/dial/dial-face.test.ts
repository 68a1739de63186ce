// The dial's face in each state, and as a sentence.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noFigures, type WindFigures } from '../../../server/wire/wind/figures.ts'
import { calm, fault, measured } from '../../../server/wire/wind/testing.ts'
import { firstChoices } from '../choices.ts'
import { windFace } from '../wind-face.ts'
import { dialFace, dialSentence, isSameFace } from './dial-face.ts'

const figures: WindFigures = {
  ...noFigures,
  gustMetresPerSecond: 8.37,
  spread: { directionDegrees: 231, deviationDegrees: 14.3 },
}

function panelFace(reading: typeof fault | null, now = 0) {
  return windFace({ reading, receivedAt: reading && 0, sensor: null, choices: firstChoices }, now)
}

test('measured: number, gust, pointer and spread', () => {
  assert.deepEqual(dialFace(panelFace(measured(5.21, 229)), figures), {
    word: null,
    number: '5.2',
    unit: 'm/s',
    gust: 'gust 8.4',
    directionDegrees: 229,
    spread: figures.spread,
    isStale: false,
    isFault: false,
  })
})

test('calm: the word, the small speed, no pointer', () => {
  const face = dialFace(panelFace(calm(0.03)), figures)
  assert.deepEqual([face.word, face.number, face.directionDegrees], ['Calm', '0.0', null])
})

test('a fault has no number of any kind', () => {
  const face = dialFace(panelFace(fault), figures)
  assert.deepEqual(
    [face.word, face.number, face.gust, face.spread, face.directionDegrees],
    ['Fault', null, null, null, null],
  )
  assert.equal(face.isFault, true)
})

test('stale: the last speed and direction, and no gust and spread of now', () => {
  const face = dialFace(panelFace(measured(5.21, 229), 6000), figures)
  assert.deepEqual([face.number, face.directionDegrees, face.gust, face.spread], ['5.2', 229, null, null])
  assert.equal(face.isStale, true)
})

test('as a sentence', () => {
  assert.equal(
    dialSentence(panelFace(measured(5.21, 229)), figures),
    'Wind dial: 5.2 metres per second, from the south-west, 229 degrees, gust 8.4, swinging 14 degrees to either side.',
  )
  assert.equal(dialSentence(panelFace(calm(0.03)), noFigures), 'Wind dial: calm.')
  assert.match(dialSentence(panelFace(measured(5, 1), 6000), noFigures), /^Wind dial, last reading: 5\.0/)
  assert.match(dialSentence(panelFace(fault), figures), /fault/)
  assert.match(dialSentence(panelFace(null), noFigures), /no reading/)
})

test('two faces are the same when nothing on them differs', () => {
  const face = () => dialFace(panelFace(measured(5.21, 229)), figures)
  assert.equal(
    isSameFace(face(), { ...face(), spread: { directionDegrees: 231, deviationDegrees: 14.3 } }),
    true,
  )
  assert.equal(isSameFace(face(), { ...face(), number: '5.3' }), false)
  assert.equal(isSameFace(face(), { ...face(), spread: null }), false)
  assert.equal(
    isSameFace(face(), { ...face(), spread: { directionDegrees: 231, deviationDegrees: 15 } }),
    false,
  )
})
