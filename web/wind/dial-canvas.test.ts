// Positions, colours and sizes of the dial's parts, and how the pointer turns.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createRecordingContext, type Drawn, namedLookOf } from './canvas-testing.ts'
import { dialProperties, drawDial, drawDialCard, Pointer } from './dial-canvas.ts'
import type { DialModel } from './wind-view-model.ts'

describe('drawing', () => {
  const namedLook = { ...namedLookOf(dialProperties), trailKept: '0' }
  const windy: DialModel = {
    state: 'measured',
    directionDegrees: 90,
    spread: { directionDegrees: 350, deviationDegrees: 20 },
    trail: [],
    isStale: false,
  }

  function drawnDial(dial: DialModel, angleDegrees: number | null = dial.directionDegrees, size = 240) {
    const context = createRecordingContext()
    drawDial(context, size, dial, angleDegrees, namedLook)
    return context.drawn
  }

  function textsOf(drawn: readonly Drawn[]): string {
    return drawn.flatMap(({ kind, text }) => (kind === 'text' ? [text] : [])).join('|')
  }

  function pointerOf(drawn: readonly Drawn[]): Drawn | undefined {
    return drawn.find(({ kind }) => kind === 'fill')
  }

  function assertClose(
    actual: readonly (readonly number[])[] | undefined,
    expected: readonly number[][],
  ): void {
    const rounded = actual?.map((point) => point.map((value) => Math.round(value * 100) / 100))
    assert.deepEqual(rounded, expected)
  }

  test('the pointer is where the wind comes from, and points inward', () => {
    const tip = (angle: number, size: number) => pointerOf(drawnDial(windy, angle, size))?.points.slice(0, 1)
    assertClose(tip(0, 240), [[120, 34]])
    assertClose(tip(90, 240), [[206, 120]])
    assertClose(tip(180, 240), [[120, 206]])
    assertClose(tip(450, 480), [[412, 240]])
  })

  /** CSS pixels. */
  const typeSize = ({ font }: Drawn, side: number) => (Number(/([\d.]+)px/.exec(font)?.[1]) * side) / 240

  for (const side of [152, 480])
    test(`the pointer covers no letter or degrees of a dial of ${side} px, whatever its angle`, () => {
      const context = createRecordingContext()
      drawDialCard(context, side, namedLook)
      const radiusOf = ([x = 0, y = 0]: readonly number[]) => Math.hypot(x - side / 2, y - side / 2)
      const texts = context.drawn.filter(({ kind }) => kind === 'text')
      assert.equal(texts.length, side < 320 ? 4 : 12)
      // Digits are about 0.6 of the font's size wide, a W all of it, and three quarters high.
      const furthest = texts.map((drawn) => {
        const {
          text,
          points: [[x = 0, y = 0] = []],
        } = drawn
        const size = typeSize(drawn, side)
        const halfWidth = ((/\d/.test(text) ? 0.6 : 1) * text.length * size) / 2
        const halfHeight = 0.375 * size
        const corners = [-1, 1].flatMap((along) =>
          [-1, 1].map((up) => [x + along * halfWidth, y + up * halfHeight]),
        )
        return Math.max(...corners.map(radiusOf))
      })
      const drawn = drawnDial(windy, 60, side)
      const nearest = Math.min(...(pointerOf(drawn)?.points.map(radiusOf) ?? []))
      const outline = (drawn.find(({ colour }) => colour === 'paper')?.lineWidth ?? 0) / 2
      assert.ok(
        Math.max(...furthest) < nearest - outline,
        `${Math.max(...furthest)} and ${nearest} − ${outline}`,
      )
    })

  test('no word is smaller than 11 px in the smallest dial', () => {
    const context = createRecordingContext()
    drawDialCard(context, 152, namedLook)
    const words = [...context.drawn, ...drawnDial(windy, 90, 152)].filter(({ kind }) => kind === 'text')
    for (const word of words) assert.ok(typeSize(word, 152) >= 10.99, word.text)
  })

  test('no part of the pointer leaves the canvas, whatever its angle', () => {
    for (let angle = 0; angle < 360; angle += 5)
      for (const { points } of drawnDial(windy, angle))
        for (const value of points.flat()) assert.ok(value >= 0 && value <= 240, `${value} at ${angle}°`)
  })

  test('the spread reaches one deviation to either side, also through north', () => {
    const spread = drawnDial(windy).find(({ colour }) => colour === 'spread')
    assert.deepEqual(spread?.arc?.map(Math.round), [330, 370])
    assert.equal(spread?.lineWidth, 12)
  })

  test('the trail crosses the ring, the older the fainter and the shorter; the pointer is opaque', () => {
    const drawn = drawnDial({ ...windy, trail: [[0, 90], [], [180]] })
    const trail = drawn.filter(({ colour }) => colour === 'trail')
    assertClose(trail[0]?.points, [
      [120, 30],
      [120, 18],
      [210, 120],
      [222, 120],
    ])
    assertClose(trail[2]?.points, [
      [120, 214],
      [120, 218],
    ])
    assert.deepEqual(
      trail.map(({ opacity }) => Math.round(opacity * 100)),
      [60, 40, 20],
    )
    assert.equal(pointerOf(drawn)?.opacity, 1)
  })

  test('in forced colours the trail does not fade', () => {
    const context = createRecordingContext()
    const look = { ...namedLook, trailKept: '1' }
    drawDial(context, 240, { ...windy, trail: [[0], [90]] }, 90, look)
    assert.ok(context.drawn.every(({ opacity }) => opacity === 1))
  })

  test('the degrees are in the middle, between W and E, and clear of them', () => {
    const drawn = drawnDial({ ...windy, directionDegrees: 359 })
    assert.equal(textsOf(drawn), '359°')
    const degrees = drawn.find(({ kind }) => kind === 'text')
    assertClose(degrees?.points, [[120, 122]])
    // The letters begin 64 from the centre; a digit is 0.6 of the font's size wide, the sign 0.5.
    assert.ok(((3 * 0.6 + 0.5) * typeSize(degrees as Drawn, 240)) / 2 < 60)
  })

  test('without a direction there is no pointer; without a spread, no arc', () => {
    const drawn = drawnDial({ ...windy, state: 'calm', directionDegrees: null, spread: null })
    assert.deepEqual(drawn, [])
  })

  test('stale values are hollow and grey', () => {
    const drawn = drawnDial({ ...windy, isStale: true, spread: null })
    assert.equal(pointerOf(drawn)?.colour, 'paper')
    assert.ok(drawn.every(({ colour }) => colour !== 'pointer' && colour !== 'ink'))
  })

  test('each drawing clears the canvas once, and restores its state', () => {
    const context = createRecordingContext()
    for (const angle of [10, 20]) drawDial(context, 240, windy, angle, namedLook)
    assert.equal(context.clears(), 2)
    const half = context.drawn.length / 2
    assert.deepEqual(context.drawn[half - 1]?.points, context.drawn.at(-1)?.points)
  })

  test('the card has 36 ticks and N at the top; a large one also has degrees', () => {
    const card = (size: number) => {
      const context = createRecordingContext()
      drawDialCard(context, size, namedLook)
      return context.drawn
    }
    const small = card(240)
    assert.equal(small.filter(({ kind, arc }) => kind === 'stroke' && arc === null).length, 36)
    assert.equal(textsOf(small), 'N|E|S|W')
    assertClose(small.find(({ text }) => text === 'N')?.points, [[120, 48.5]])
    assert.equal(textsOf(card(400)), 'N|E|S|W|30|60|120|150|210|240|300|330')
  })
})

describe('the pointer', () => {
  test('the first direction appears at once', () => {
    const pointer = new Pointer()
    assert.equal(pointer.angleAt(0), null)
    pointer.turnTo(90, 0, false)
    assert.equal(pointer.angleAt(0), 90)
    assert.equal(pointer.isTurningAt(0), false)
  })

  test('turns the short way across north, slowing down, and rests after 200 ms', () => {
    const pointer = new Pointer()
    pointer.turnTo(350, 0, false)
    pointer.turnTo(10, 1000, false)
    const angles = [1000, 1050, 1100, 1200, 1300].map((now) => pointer.angleAt(now) ?? 0)
    assert.deepEqual(
      angles.map((angle) => Math.round(angle * 100) / 100),
      [350, 361.56, 367.5, 370, 370],
    )
    assert.equal(pointer.isTurningAt(1199), true)
    assert.equal(pointer.isTurningAt(1200), false)
  })

  test("a new direction during a turn starts from the pointer's position", () => {
    const pointer = new Pointer()
    pointer.turnTo(0, 0, false)
    pointer.turnTo(90, 1000, false)
    const onTheWay = pointer.angleAt(1100)
    pointer.turnTo(45, 1100, false)
    assert.equal(pointer.angleAt(1100), onTheWay)
    assert.equal(pointer.angleAt(1300), 45)
  })

  test('the same direction again is no turn, and does not delay the current one', () => {
    const pointer = new Pointer()
    pointer.turnTo(0, 0, false)
    pointer.turnTo(90, 1000, false)
    pointer.turnTo(90, 1100, false)
    assert.equal(pointer.isTurningAt(1200), false)
    pointer.turnTo(90, 2000, false)
    assert.equal(pointer.isTurningAt(2000), false)
  })

  test('with reduced motion it is there at once', () => {
    const pointer = new Pointer()
    pointer.turnTo(0, 0, true)
    pointer.turnTo(90, 1000, true)
    assert.equal(pointer.angleAt(1000), 90)
    assert.equal(pointer.isTurningAt(1000), false)
  })

  test('a change of one degree causes no turn', () => {
    const pointer = new Pointer()
    pointer.turnTo(359.5, 0, false)
    pointer.turnTo(0.5, 1000, false)
    assert.equal(pointer.angleAt(1000), 360.5)
    assert.equal(pointer.isTurningAt(1000), false)
  })

  test('after a calm the pointer does not turn from its previous position', () => {
    const pointer = new Pointer()
    pointer.turnTo(0, 0, false)
    pointer.turnTo(null, 1000, false)
    assert.equal(pointer.angleAt(1000), null)
    pointer.turnTo(180, 2000, false)
    assert.equal(pointer.angleAt(2000), 180)
  })

  test('it keeps turning the short way after many rounds', () => {
    const pointer = new Pointer()
    for (let direction = 0; direction <= 3600; direction += 90)
      pointer.turnTo(direction % 360, direction * 10, false)
    assert.equal(pointer.angleAt(40_000), 3600)
    pointer.turnTo(45, 50_000, false)
    assert.equal(pointer.angleAt(60_000), 3645)
    pointer.turnTo(300, 70_000, false)
    assert.equal(pointer.angleAt(80_000), 3540)
  })
})
