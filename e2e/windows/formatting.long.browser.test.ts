// Toolbar, shortcuts, links and pastes in real windows.

import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { clipboards, smallImage } from '../../app/document/clipboards-testing.ts'
import { type Mode, modeNamed } from '../../protocol/modes.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { htmlShown, shown } from './page.ts'
import { paste } from './shared-editing.ts'
import { openStage, type Stage, untilShows } from './stage.ts'

const mode: Mode = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')

/** As typed with Ctrl held, which WebDriver would have to hold itself. */
function pressed(key: string, code: string, held: readonly string[] = ['ctrlKey']): boolean {
  const init = {
    key,
    code,
    bubbles: true,
    cancelable: true,
    ...Object.fromEntries(held.map((name) => [name, true])),
  }
  return !document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', init))
}

function drop(name: string, type: string, base64: string): void {
  const data = new DataTransfer()
  data.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name, { type }))
  const root = document.querySelector('#document')
  const { left = 0, top = 0 } = root?.firstElementChild?.getBoundingClientRect() ?? {}
  const at = { clientX: left + 2, clientY: top + 5 }
  root?.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true, ...at }))
}

/** Selects these words in the first text that contains them. */
function select(words: string): void {
  const texts = document.createTreeWalker(
    document.querySelector('#document') ?? document,
    NodeFilter.SHOW_TEXT,
  )
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const at = node.nodeValue?.indexOf(words) ?? -1
    if (at < 0) continue
    getSelection()?.setBaseAndExtent(node, at + words.length, node, at)
    return
  }
}

const isInText = () => document.activeElement?.id === 'document'
const selected = () => getSelection()?.toString() ?? ''
const isPressed = (tool: string) =>
  document.querySelector(`[data-tool=${tool}]`)?.getAttribute('aria-pressed') === 'true'

/** Without the placeholders at the end of a line. */
async function html(window: BrowserWindow): Promise<string> {
  return (await window.run(htmlShown)).replace(/<br[^>]*>(?=<\/(?:p|li|h\d)>)/g, '').replaceAll('\u200b', '')
}

async function untilHtml(window: BrowserWindow, expected: RegExp): Promise<void> {
  await until(async () => expected.test(await html(window)), `no ${expected}`).catch(async (error) => {
    throw new Error(`${error.message} It shows ${await html(window)}`)
  })
}

describe('the text', () => {
  let stage: Stage
  let count = 0
  before(async () => {
    stage = await openStage()
  })
  after(() => stage.close())
  afterEach(() => stage.closeWindows())

  async function openWindow(): Promise<BrowserWindow> {
    count += 1
    const [window] = await stage.open(mode, 1, `formatting-${count}`)
    assert.ok(window)
    await window.resize(1300, 800)
    await window.click('#document')
    return window
  }

  test('a button acts on the text and leaves the focus and selection in it', async () => {
    const window = await openWindow()
    await window.type('some words')
    await window.run(select, 'words')
    for (const [tool, expected] of [
      ['bold', /some <(b|strong)>words</],
      ['italic', /<(i|em)>/],
      ['underline', /<u>/],
      ['strike', /<(s|strike|del)>/],
      ['h1', /^<h1>some /],
      ['h2', /^<h2>some /],
      ['h2', /^<p>some /],
      ['ul', /<ul><li>some /],
      ['ol', /<ol><li>(<span>)?some /],
      ['ol', /^<p>(<span>)?some /],
      ['blockquote', /^<blockquote>(<p>)?(<span>)?some /],
      ['blockquote', /^<p>(<span>)?some /],
    ] as const) {
      await window.click(`[data-tool=${tool}]`)
      await untilHtml(window, expected)
      assert.ok(await window.run(isInText), `${tool} takes the focus`)
      assert.equal(await window.run(selected), 'words', `${tool} changes the selection`)
    }
    await until(() => window.run(isPressed, 'bold'), 'bold is not pressed')
    await window.click('[data-tool=bold]')
    await until(async () => !(await window.run(isPressed, 'bold')), 'bold stays pressed')
  })

  test('text typed after a button is marked; buttons undo and redo it', async () => {
    const window = await openWindow()
    await window.type('a')
    await window.click('[data-tool=bold]')
    await window.type('b')
    await untilHtml(window, /a<(b|strong)>b</)
    await window.click('[data-tool=undo]')
    await until(async () => !/b</.test((await html(window)).replace(/<\/?b>/g, '')), 'it is not undone')
    await window.click('[data-tool=redo]')
    await until(async () => (await window.run(shown, '#document')).includes('b'), 'it is not redone')
  })

  test('shortcuts do the same; Tab nests list items, and moves the focus elsewhere', async () => {
    const window = await openWindow()
    await window.type('one')
    assert.ok(await window.run(pressed, '!', 'Digit1', ['ctrlKey', 'altKey']))
    await untilHtml(window, /^<h1>one/)
    assert.ok(await window.run(pressed, ')', 'Digit0', ['ctrlKey', 'altKey']))
    await untilHtml(window, /^<p>one/)
    assert.ok(!(await window.run(pressed, 'Tab', 'Tab', [])))
    assert.ok(await window.run(pressed, '*', 'Digit8', ['ctrlKey', 'shiftKey']))
    await untilHtml(window, /<ul><li>one/)
    await window.key('\ue007')
    await window.type('two')
    assert.ok(await window.run(pressed, 'Tab', 'Tab', []))
    await untilHtml(window, /<ul><li>one(<\/li>)?<ul><li>two/)
    assert.ok(await window.run(pressed, 'Tab', 'Tab', ['shiftKey']))
    await untilHtml(window, /<ul><li>one<\/li><li>(<span>)?two/)
    await window.run(select, 'two')
    for (const [key, code, held, expected] of [
      ['b', 'KeyB', ['ctrlKey'], /<(b|strong)>two</],
      ['e', 'KeyE', ['ctrlKey'], /<code>/],
      ['x', 'KeyX', ['ctrlKey', 'shiftKey'], /<(s|strike|del)>/],
    ] as const) {
      assert.ok(await window.run(pressed, key, code, held))
      await untilHtml(window, expected)
    }
  })

  test('a slash offers blocks: words choose among them, Enter takes one, Escape leaves the text', async () => {
    const window = await openWindow()
    const options = () =>
      window.run(() =>
        Array.from(document.querySelectorAll<HTMLElement>('[role=option]'), (row) => row.innerText),
      )
    const reached = () =>
      window.run(() => {
        const id = document.querySelector('#document')?.getAttribute('aria-activedescendant')
        return document.getElementById(id ?? '')?.querySelector(':nth-child(2)')?.textContent ?? null
      })
    await window.type('/')
    await until(async () => (await options()).length === 8, 'there are not eight')
    assert.equal(await reached(), 'Heading')
    await window.type('list')
    await until(async () => (await options()).length === 2, 'the words do not choose')
    await window.key('\ue015')
    await until(async () => (await reached()) === 'Numbered list', 'the arrow does not move')
    await window.key('\ue007')
    await window.click('[data-tool=undo]')
    await untilHtml(window, /^<p>(<span>)?\/list</)
    await window.click('[data-tool=redo]')
    await untilHtml(window, /^<ol>/)
    await window.type('one')
    await untilHtml(window, /^<ol><li>(<span>)?one<.*<\/ol>$/)
    assert.deepEqual(await options(), [])
    await window.key('\ue007')
    await window.key('\ue007')
    await window.type('/etc')
    await window.key('\ue00c')
    await window.type(' x')
    await untilHtml(window, /<p>(<span>)?\/etc x/)
    assert.deepEqual(await options(), [])
    assert.ok(await window.run(isInText))
  })

  test('what is typed between signs is formatted, and undo brings the signs back', async () => {
    const window = await openWindow()
    await window.type('a **b** c')
    await untilHtml(window, /^<p>a <b>b<\/b> c/)
    await window.key('\ue007')
    await window.type('see www.example.org')
    await window.key('\ue007')
    await untilHtml(window, /see <a href="https:\/\/www\.example\.org"[^>]*>www\.example\.org<\/a>/)
    await window.key('\ue007')
    await window.type('_d_')
    await untilHtml(window, /<i>d<\/i>/)
    await window.click('[data-tool=undo]')
    await untilHtml(window, /_d_/)
  })

  test('a link is set, refused, changed and removed; Escape returns to the selection', async () => {
    const window = await openWindow()
    await window.type('see here now')
    await window.run(select, 'here')
    assert.ok(await window.run(pressed, 'k', 'KeyK'))
    await until(() => window.run(() => document.activeElement?.id === 'link-address'), 'no link form')
    await window.run(pressed, 'Escape', 'Escape', [])
    assert.deepEqual([await window.run(isInText), await window.run(selected)], [true, 'here'])
    await window.click('[data-tool=link]')
    await window.type('javascript:alert(1)')
    await window.click('.link-form [type=submit]')
    await until(async () => /https:/.test(await window.run(shown, '#link-refusal')), 'it is not refused')
    await window.run(() => document.querySelector<HTMLInputElement>('#link-address')?.select())
    await window.type('example.org')
    await window.click('.link-form [type=submit]')
    await untilHtml(window, /see <a [^>]*href="https:\/\/example\.org"[^>]*>here<\/a> now/)
    assert.ok(await window.run(isInText))
    // A caret in the link is enough.
    await window.run(() =>
      getSelection()?.collapse(document.querySelector('#document a')?.firstChild ?? null, 2),
    )
    await window.click('[data-tool=link]')
    await window.run(() => document.querySelector<HTMLInputElement>('#link-address')?.select())
    await window.type('a@b.org')
    await window.click('.link-form [type=submit]')
    await untilHtml(window, /see <a [^>]*href="mailto:a@b\.org"[^>]*>here<\/a> now/)
    await window.run(() =>
      getSelection()?.collapse(document.querySelector('#document a')?.firstChild ?? null, 2),
    )
    await window.click('[data-tool=link]')
    await window.click('.link-form [type=button]')
    await untilHtml(window, /^<p>see here now/)
  })

  test('no paste causes a policy error, all its words arrive, and what is not kept is named', async () => {
    await stage.browser.consoleMessages()
    const window = await openWindow()
    for (const { name, html: foreign, text, kept, unkept = [] } of clipboards) {
      await window.run(() =>
        getSelection()?.selectAllChildren(document.querySelector('#document') ?? document),
      )
      await window.run(pressed, ')', 'Digit0', ['ctrlKey', 'altKey'])
      await window.run(paste, foreign, text)
      const words = (markup: string) => {
        const entities = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&nbsp;': '\u00a0' }
        const plain = markup
          .replace(/<[^>]*>/g, '')
          .replace(/&\w+;/g, (each) => entities[each as '&lt;'] ?? each)
        return plain.replace(/\s/g, '')
      }
      await until(
        async () => (await window.run(shown, '#document')).replace(/[\s\u200b]/g, '') === words(kept),
        `${name} is not shown`,
      ).catch(async (error) => {
        throw new Error(`${error.message} It shows ${await html(window)}`)
      })
      for (const one of unkept)
        await until(
          async () => (await window.run(shown, '.tool-notice')).includes(one),
          `${one} is not named`,
        )
    }
    assert.deepEqual(await stage.browser.consoleMessages(), [])
  })

  test('a paste’s structure reaches the document', async () => {
    const window = await openWindow()
    const [word] = clipboards
    await window.run(paste, word?.html ?? '', '')
    await untilHtml(
      window,
      /^<h1>The wind<\/h1>.*<ul><li>North<ul><li>by <u>east<\/u><\/li><\/ul><\/li><li>South<\/li><\/ul>.*<ol><li>First<ol><li>A<\/li><\/ol><\/li><li>Second<\/li><\/ol>/,
    )
  })

  test('text typed while a pasted image is read comes after it', async () => {
    const window = await openWindow()
    await window.run((base64: string) => {
      const root = document.querySelector<HTMLElement>('#document')
      const data = new DataTransfer()
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
      data.items.add(new File([bytes], 'dot.gif', { type: 'image/gif' }))
      const event = new ClipboardEvent('paste', { bubbles: true, cancelable: true })
      Object.defineProperty(event, 'clipboardData', { value: data })
      root?.focus()
      root?.dispatchEvent(event)
      document.execCommand('insertText', false, '1')
    }, smallImage.split(',')[1] ?? '')
    await untilHtml(window, /<img[^>]*>1/)
    await window.type('2')
    await untilHtml(window, /<img[^>]*>12/)
  })

  test('pasted code keeps its lines, also in a code block', async () => {
    const window = await openWindow()
    await window.run(paste, '<pre>if (a)\n    b()</pre>', '')
    // A letter typed before it would give its own block to the code’s last line.
    await untilHtml(window, /<pre>if \(a\)/)
    await window.type('!')
    await window.run(select, '!')
    await window.run(paste, '<p>x</p>', '\n    c()\n')
    const lines = () => window.run(() => document.querySelector<HTMLElement>('#document')?.innerText ?? '')
    await until(
      async () => /if \(a\)\n+ {4}b\(\)\n+ {4}c\(\)/.test(await lines()),
      'the lines are not kept',
    ).catch(async (error) => {
      throw new Error(`${error.message} It shows ${JSON.stringify(await lines())} ${await html(window)}`)
    })
  })

  test('an address pasted over words links them; a dropped image is kept, a file that cannot be read is named', async () => {
    const window = await openWindow()
    await window.type('here')
    await window.run(select, 'here')
    await window.run(paste, '', 'https://example.org/')
    await untilHtml(window, /<a [^>]*href="https:\/\/example\.org\/"[^>]*>here</)
    await window.run(drop, 'dot.gif', 'image/gif', smallImage.split(',')[1] ?? '')
    await untilHtml(window, /<img[^>]* src="data:image\/gif/)
    await window.run(drop, 'report.pdf', 'application/pdf', 'AAAA')
    const untilNotice = (words: RegExp) =>
      until(
        async () => words.test(await window.run(shown, '.tool-notice')),
        `no notice has the words ${words}`,
      )
    await untilNotice(/report\.pdf/)
    await window.run(drop, 'report.rtf', 'application/rtf', btoa('{\\rtf1 codes}'))
    await untilNotice(/report\.rtf is a rich text document \(RTF\), which cannot be imported: open it, /)
    assert.doesNotMatch(await html(window), /report|codes/)
  })

  test('by keyboard: Alt+F10 reaches the toolbar, arrows move in it, an action returns to the text', async () => {
    const window = await openWindow()
    await window.type('abc')
    await window.run(select, 'abc')
    const tool = () => window.run(() => (document.activeElement as HTMLElement).dataset.tool)
    await window.run(pressed, 'F10', 'F10', ['altKey'])
    assert.equal(await tool(), 'bold')
    await window.run(pressed, 'ArrowRight', 'ArrowRight', [])
    assert.equal(await tool(), 'italic')
    await window.run(pressed, 'Home', 'Home', [])
    await window.run(pressed, 'ArrowLeft', 'ArrowLeft', [])
    assert.ok(['shortcuts', 'more'].includes((await tool()) ?? ''))
    assert.equal(await window.run(() => document.querySelectorAll('.toolbar [tabindex="0"]').length), 1)
    await window.run(pressed, 'Home', 'Home', [])
    for (let step = 0; step < 3 && (await tool()) !== 'italic'; step += 1)
      await window.run(pressed, 'ArrowRight', 'ArrowRight', [])
    await window.key('\ue007')
    await untilHtml(window, /<(i|em)>abc</)
    assert.ok(await window.run(isInText))
    assert.equal(await window.run(selected), 'abc')
  })
})

describe('the page', () => {
  let stage: Stage
  before(async () => {
    stage = await openStage()
  })
  after(() => stage.close())

  test('on a phone the toolbar is one row without overflow, and the rest is behind a button', async () => {
    const [window] = await stage.open(mode, 1, 'phone')
    assert.ok(window)
    for (const width of [360, 768, 1440]) {
      await window.resize(width, 800)
      const fits = () =>
        window.run((wanted) => {
          const bar = document.querySelector('.toolbar')
          const right = bar?.getBoundingClientRect().right ?? 0
          const tops = [...document.querySelectorAll('.toolbar .tool')].map((tool) =>
            tool.getBoundingClientRect(),
          )
          return (
            (innerWidth === wanted || wanted < 500) &&
            tops.length > 5 &&
            new Set(tops.map(({ top }) => top)).size === 1 &&
            tops.every((rect) => rect.right <= right) &&
            document.documentElement.scrollWidth <= innerWidth
          )
        }, width)
      await until(fits, `at ${width} px the toolbar does not fit`)
    }
    await window.resize(360, 800)
    await until(
      () => window.run(() => document.querySelector('[data-tool=more]') !== null),
      'there is no “more” button',
    )
    assert.equal(await window.run(() => document.querySelector('[data-tool=pre]')), null)
    await window.click('#document')
    await window.type('code')
    await window.click('[data-tool=more]')
    await window.click('[data-tool=pre]')
    await until(
      async () => /<pre>code/.test(await window.run(htmlShown)),
      'the tool behind the button does nothing',
    )
    await window.close()
  })

  test('an empty page says what to do and offers a second window; the first letter typed moves nothing', async () => {
    const [window] = await stage.open(mode, 1, 'empty')
    assert.ok(window)
    const offer = () =>
      window.run(() => {
        const shown = document.querySelector<HTMLElement>('.sheet-offer')
        return shown?.checkVisibility() ? shown.innerText : ''
      })
    assert.match(await offer(), /Open a second window/)
    const words = await window.run(() =>
      document.querySelector('#document')?.getAttribute('aria-placeholder'),
    )
    assert.equal(words, 'Write, or press / for headings, lists, code')
    const places = () =>
      window.run(() =>
        ['.toolbar', '#document', '#document > p'].map((selector) => {
          const { x, y, width, height } =
            document.querySelector(selector)?.getBoundingClientRect() ?? new DOMRect()
          return [x, y, width, height]
        }),
      )
    const before = await places()
    await window.click('#document')
    await window.type('x')
    await untilShows(window, 'x')
    assert.equal(await offer(), '')
    assert.deepEqual(await places(), before)
    await window.close()
  })

  test('the list of shortcuts opens and closes by keyboard, returning to the text', async () => {
    const [window] = await stage.open(mode, 1, 'shortcuts')
    assert.ok(window)
    await window.click('#document')
    await window.type('x')
    assert.ok(await window.run(pressed, '/', 'Slash'))
    const isOpen = () => window.run(() => document.querySelector('dialog[open]') !== null)
    await until(isOpen, 'the list did not open')
    assert.match(await window.run(shown, 'dialog'), /BoldCtrl\+B/)
    await window.click('dialog button')
    await until(async () => !(await isOpen()), 'the list did not close')
    assert.ok(await window.run(isInText))
    await window.type('y')
    await untilShows(window, 'xy')
    await window.close()
  })
})
