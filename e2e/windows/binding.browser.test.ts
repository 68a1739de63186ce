// Bound editables: nothing that anybody typed is lost, and every caret stays where it belongs.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserNames } from '../browser/browser.ts'
import type { Door, FrameDoor } from './binding-page.ts'
import { type BindingStage, openBindingStage } from './binding-stage.ts'

const name = browserNames.find((known) => known === process.env.CROSSWIND_BROWSER) ?? 'chromium'

let stage: BindingStage
before(async () => {
  stage = await openBindingStage(name)
})
after(() => stage.close())

/** Calls a function of a frame's door. */
function within<Name extends keyof FrameDoor>(
  index: number,
  action: Name,
  ...args: Parameters<FrameDoor[Name]>
): Promise<ReturnType<FrameDoor[Name]>> {
  return call('in', index, action as never, ...(args as never)) as never
}

/** Calls a function of the page's door. */
function call<Name extends keyof Door>(
  action: Name,
  ...args: Parameters<Door[Name]>
): Promise<Awaited<ReturnType<Door[Name]>>> {
  return stage.run(
    (action, args) => {
      const { door } = globalThis as typeof globalThis & {
        door: Record<string, (...args: unknown[]) => unknown>
      }
      return door[action]?.(...args) as never
    },
    action as string,
    args as unknown[],
  )
}

/** All editables show their own text, and the page complained of nothing. */
async function check(): Promise<void> {
  await call('settled')
  assert.equal(await call('fault'), null)
  assert.deepEqual(stage.errors(), [])
}

test('typing, Enter and Backspace change the text that others see', async () => {
  await call('open', 2)
  await within(0, 'select', 0)
  await stage.type('Hello')
  await stage.key('Enter')
  await stage.type('wold')
  await stage.key('ArrowLeft')
  await stage.key('ArrowLeft')
  await stage.type('r')
  await check()
  for (const index of [0, 1]) assert.equal(await within(index, 'text'), 'Hello\nworld\n')
  await stage.key('Home')
  await stage.key('Backspace')
  await stage.key('Backspace')
  await check()
  for (const index of [0, 1]) assert.equal(await within(index, 'text'), 'Hellworld\n')
})

test('two people type in their own paragraphs and lose no letter', async () => {
  await call('open', 2, 'one:', 'two:')
  const [first, second] = ['abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
  const carets = [4, 9]
  for (let place = 0; place < 26; place += 1) {
    for (const [index, letters] of [first, second].entries()) {
      await within(index, 'select', carets[index] ?? 0)
      await stage.type(letters[place] ?? '')
      await call('settled')
      const now = await within(index, 'selection')
      carets[index] = now?.head ?? 0
      // What the first types moves the second's caret, whose editable is not in focus.
      if (index === 0) carets[1] = (carets[1] ?? 0) + 1
    }
  }
  await check()
  for (const index of [0, 1]) assert.equal(await within(index, 'text'), `one:${first}\ntwo:${second}\n`)
})

test('five type at once, held and passed on, and no letter is lost', async () => {
  await call('open', 5, 'a', 'b', 'c', 'd', 'e')
  for (let index = 0; index < 5; index += 1) await call('hold', index, true)
  for (let index = 0; index < 5; index += 1) {
    await within(index, 'select', index * 2 + 1)
    await stage.type(`${index}`.repeat(20))
  }
  for (let index = 0; index < 5; index += 1) await call('hold', index, false)
  await check()
  const expected = [...'abcde'].map((letter, index) => `${letter}${`${index}`.repeat(20)}\n`).join('')
  for (let index = 0; index < 5; index += 1) assert.equal(await within(index, 'text'), expected)
})

test('what was written offline is merged with what others wrote meanwhile', async () => {
  await call('open', 2, 'shared')
  await call('hold', 0, true)
  await within(0, 'select', 6)
  await stage.key('Enter')
  await stage.type('written offline')
  await within(1, 'select', 0)
  await stage.type('meanwhile, ')
  await call('hold', 0, false)
  await check()
  for (const index of [0, 1])
    assert.equal(await within(index, 'text'), 'meanwhile, shared\nwritten offline\n')
})

test('a caret that moves before others’ change is drawn stays where it was put', async () => {
  await call('open', 2, 'one', 'two')
  await within(0, 'select', 0, 3)
  await stage.run(() => {
    const { door } = globalThis as typeof globalThis & { door: Door }
    door.in(1, 'edit', 0, 'X')
    door.in(0, 'select', 6)
  })
  await check()
  assert.deepEqual(await within(0, 'selected'), { anchor: 6, head: 6 })
})

test('a caret and a backward selection stay at their words when others edit above and around', async () => {
  await call('open', 2, 'first', 'second', 'third')
  await within(0, 'select', 12, 9)
  await within(1, 'edit', 0, 'new\nlines\n')
  await within(1, 'edit', 18, 'X')
  await check()
  assert.deepEqual(await within(0, 'selection'), { anchor: 23, head: 20 })
  assert.deepEqual(await call('domSelection', 0), { text: 'ond', isBackward: true })
})

test('what a reader sees stays in place when others edit above it', async () => {
  await call('open', 2, ...Array.from({ length: 60 }, (_, place) => `line ${place}`))
  const top = await within(0, 'scrollTo', 'line 30')
  await within(1, 'edit', 0, 'new\nlines\n'.repeat(5))
  await call('settled')
  assert.equal(await within(0, 'topOf', 'line 30'), top)
  await within(1, 'edit', 0, '', 'new\nlines\n'.length * 5)
  await call('settled')
  assert.equal(await within(0, 'topOf', 'line 30'), top)
  await check()
})

test('typing at the end scrolls to the caret', async () => {
  await call('open', 2, ...Array.from({ length: 60 }, (_, place) => `line ${place}`))
  await within(0, 'select', (await within(0, 'text')).length - 1)
  await stage.key('Enter')
  await stage.type('last')
  await check()
  const top = await within(0, 'topOf', 'last')
  assert.ok(top > 0 && top < 150, String(top))
})

test('what others insert exactly at a caret comes after it', async () => {
  await call('open', 2, 'ab')
  await within(0, 'select', 1)
  await within(1, 'edit', 1, 'X')
  await call('settled')
  await stage.type('1')
  await check()
  assert.equal(await within(1, 'text'), 'a1Xb\n')
})

test('marks: over a selection, and chosen before typing', async () => {
  await call('open', 2, 'plain')
  await within(0, 'select', 0, 5)
  await within(0, 'command', 'toggleMark', 'italic')
  await within(0, 'select', 5)
  await within(0, 'command', 'toggleMark', 'bold')
  await stage.type(' bold')
  await within(0, 'command', 'toggleMark', 'bold')
  await stage.type(' end')
  await check()
  assert.equal(
    await within(1, 'html'),
    '<p><b></b></p>'.replace('<b></b>', '<i>plain</i><b><i> bold</i></b><i> end</i>'),
  )
  await within(0, 'select', 0, 14)
  assert.deepEqual((await within(0, 'state')).marks, ['italic'])
  await within(0, 'command', 'toggleMark', 'italic')
  await check()
  assert.equal(await within(1, 'html'), '<p>plain<b> bold</b> end</p>')
})

test('lists: Enter continues, Tab nests, Enter in an empty item and Backspace leave', async () => {
  await call('open', 2)
  await within(0, 'select', 0)
  await within(0, 'command', 'toggleList', 'ul')
  await stage.type('one')
  await stage.key('Enter')
  await stage.key('Tab')
  await stage.type('two')
  await stage.key('Enter')
  await stage.type('three')
  await stage.key('Enter')
  await stage.key('Enter')
  await stage.type('four')
  await stage.key('Enter')
  await stage.key('Enter')
  await stage.type('five')
  await check()
  assert.equal(
    await within(1, 'html'),
    '<ul><li>one<ul><li>two</li><li>three</li></ul></li><li>four</li></ul>\n<p>five</p>',
  )
  await within(0, 'select', 4)
  await stage.key('Backspace')
  await check()
  assert.deepEqual(await within(1, 'blocks'), ['ul1', 'p', 'ul2', 'ul1', 'p'])
  await within(0, 'select', 8)
  await stage.key('Shift+Tab')
  await check()
  assert.deepEqual(await within(1, 'blocks'), ['ul1', 'p', 'p', 'ul1', 'p'])
})

test('a heading: Enter at its end gives a paragraph, inside it another heading', async () => {
  await call('open', 2, 'Title')
  await within(0, 'select', 5)
  await within(0, 'command', 'setBlock', 'h2')
  await stage.key('Enter')
  await stage.type('text')
  await within(0, 'select', 2)
  await stage.key('Enter')
  await check()
  assert.equal(await within(1, 'html'), '<h2>Ti</h2>\n<h2>tle</h2>\n<p>text</p>')
  await within(0, 'command', 'setBlock', 'h2')
  await stage.key('Backspace')
  await check()
  assert.equal(await within(1, 'html'), '<h2>Title</h2>\n<p>text</p>')
})

test('a selection over several blocks is typed over, cut and split', async () => {
  await call('open', 2, 'first', 'second', 'third')
  await within(0, 'select', 7)
  await within(0, 'command', 'setBlock', 'h1')
  await within(0, 'select', 2, 15)
  await stage.type('X')
  await check()
  assert.equal(await within(1, 'html'), '<p>fiXird</p>')
  await within(0, 'command', 'undo')
  await check()
  assert.equal(await within(1, 'html'), '<p>first</p>\n<h1>second</h1>\n<p>third</p>')
  await within(0, 'select', 15, 2)
  await stage.key('Delete')
  await check()
  assert.equal(await within(1, 'html'), '<p>fiird</p>')
})

test('undo and redo are one’s own', async () => {
  await call('open', 2, 'start')
  await within(0, 'select', 5)
  await stage.type(' mine')
  await within(1, 'edit', 0, 'theirs ')
  await call('settled')
  await stage.key('Control+z')
  await check()
  assert.equal(await within(0, 'text'), 'theirs start\n')
  await stage.key('Control+Shift+z')
  await check()
  for (const index of [0, 1]) assert.equal(await within(index, 'text'), 'theirs start mine\n')
  assert.deepEqual(await within(0, 'selection'), { anchor: 17, head: 17 })
})

test('Shift+Enter breaks a line softly', async () => {
  await call('open', 2, 'ab')
  await within(0, 'select', 2)
  await stage.key('Shift+Enter')
  await check()
  await stage.type('c')
  await stage.key('Shift+Enter')
  await stage.type('d')
  await stage.key('Backspace')
  await stage.key('Backspace')
  await stage.type('e')
  await check()
  assert.equal(await within(1, 'text'), 'ab\u2028ce\n')
})

test('the shortest Backspace deletes what a reader calls a character', async () => {
  await call('open', 2, 'a👩‍👧b🎈')
  await within(0, 'select', 9)
  await stage.key('Backspace')
  await stage.key('Backspace')
  await stage.key('Backspace')
  await check()
  assert.equal(await within(1, 'text'), 'a\n')
})

if (name === 'chromium')
  test('a composition goes on while others type above, before and behind it', async () => {
    await call('open', 2, 'above', 'here', 'below')
    await within(0, 'select', 8)
    await stage.compose('か')
    await within(1, 'edit', 0, 'new\n')
    await within(1, 'edit', 10, 'X')
    await stage.compose('かん')
    await within(1, 'edit', 15, 'Y')
    await call('settled')
    await stage.compose('感')
    await stage.commit('感じ')
    await stage.type('!')
    await check()
    for (const index of [0, 1]) assert.equal(await within(index, 'text'), 'new\nabove\nXhe感じ!reY\nbelow\n')
  })

test('a caret that came with the focus alone stays at its words', async () => {
  await call('open', 2, 'ab')
  await within(0, 'focus', 0)
  await stage.key('Shift+Enter')
  await within(1, 'edit', 0, 'new\n')
  await call('settled')
  await stage.type('1')
  await check()
  assert.equal(await within(1, 'text'), 'new\n\u20281ab\n')
})

if (name === 'chromium')
  test('a composition after a caret that came with the focus alone begins at its words', async () => {
    await call('open', 2, 'ab')
    await within(0, 'focus', 0)
    await stage.key('Shift+Enter')
    await within(1, 'edit', 0, 'new\n')
    await call('settled')
    await stage.compose('か')
    await stage.commit('感')
    await check()
    assert.equal(await within(1, 'text'), 'new\n\u2028感ab\n')
  })

test('what others write behind a document that is selected as a whole is not typed over', async () => {
  await call('open', 2, 'ab')
  await within(0, 'select', 0)
  await stage.key('Control+a')
  await within(1, 'edit', 2, 'X')
  await call('settled')
  if (name === 'chromium') {
    await stage.compose('か')
    await stage.commit('感')
  } else await stage.type('感')
  await check()
  assert.equal(await within(1, 'text'), '感X\n')
})

test('pasted structure is inserted in place; a long one in several messages', async () => {
  await call('open', 2, 'before after')
  await within(0, 'select', 7)
  await within(0, 'insertHtml', '<h2>T</h2><ul><li>a<ol><li><b>b</b></li></ol></li></ul><p>x<br>y</p>')
  await check()
  assert.equal(
    await within(1, 'html'),
    '<p>before </p>\n<h2>T</h2>\n<ul><li>a<ol><li><b>b</b></li></ol></li></ul>\n<p>x<br>yafter</p>',
  )
  await within(0, 'command', 'undo')
  await check()
  assert.equal(await within(1, 'html'), '<p>before after</p>')
  await within(0, 'insertLong', 1_000_000)
  const sizes = await call('messageSizes')
  assert.ok(Math.max(...sizes) < 64_000, String(Math.max(...sizes)))
  await check()
  assert.equal((await within(1, 'text')).length, 1_000_000 + 'before after\n'.length)
  await within(0, 'command', 'undo')
  await check()
  assert.equal(await within(1, 'html'), '<p>before after</p>')
})

test('links are set, changed and removed', async () => {
  await call('open', 2, 'see there')
  await within(0, 'select', 4, 9)
  await within(0, 'command', 'setLink', 'https://a.org/')
  await within(0, 'select', 9)
  await stage.type(' end')
  await within(0, 'select', 6)
  assert.equal((await within(0, 'state')).link, 'https://a.org/')
  await within(0, 'command', 'setLink', 'https://b.org/')
  await check()
  assert.equal(await within(1, 'html'), '<p>see <a href="https://b.org/">there</a> end</p>')
  await within(0, 'command', 'setLink', 'javascript:alert(1)')
  await within(0, 'command', 'setLink', null)
  await check()
  assert.equal(await within(1, 'html'), '<p>see there end</p>')
})

test('what an extension does to the DOM is read back, marks too', async () => {
  await call('open', 2, 'one', 'two')
  await within(0, 'tamper', 'text')
  await check()
  assert.equal(await within(1, 'text'), 'onehello\ntwo\n')
  await within(0, 'tamper', 'structure')
  await check()
  assert.equal(await within(1, 'text'), 'onehello\nnew\ntwo\n')
  await within(0, 'tamper', 'marks')
  await check()
  assert.equal(await within(1, 'html'), '<p>onehello</p>\n<p>new</p>\n<p><b>two</b></p>')
})
