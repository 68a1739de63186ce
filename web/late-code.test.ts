// When code is loaded that a page needs later, and when it is not.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LateCode, loadCodeWhileServed } from './late-code.ts'
import { createStore, firstView } from './store.ts'

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** A page, and code that counts its imports. */
function openPage() {
  const store = createStore(firstView('sse/2'))
  const page = { isControlled: false }
  loadCodeWhileServed(store, () => page.isControlled)
  let imports = 0
  const code = new LateCode(async () => {
    imports += 1
    return 'code'
  }, 'It is not there.')
  const leave = () => store.change({ outage: 'The server does not answer.' })
  const comeBack = () => store.change({ outage: null })
  return { code, page, store, leave, comeBack, imports: () => imports }
}

test('while the server is away no import is tried, which a browser might remember; then it is loaded once', async () => {
  const { code, leave, comeBack, imports } = openPage()
  leave()
  await assert.rejects(code.load(), { message: 'It is not there.' })
  assert.equal(imports(), 0)
  assert.equal(code.isAtHand, false)
  comeBack()
  assert.equal(code.isAtHand, true)
  assert.equal(await code.load(), 'code')
  leave()
  assert.equal(await code.load(), 'code')
  assert.equal(code.loaded, 'code')
  assert.equal(imports(), 1)
})

test('code is loaded while the link opens in another mode or for another view', async () => {
  const { code, store } = openPage()
  store.change({ link: { ...store.view().link, state: 'opening' } })
  assert.equal(await code.load(), 'code')
})

test('code that is loaded ahead waits for the connection, however often it is asked for', async () => {
  const { code, leave, comeBack, imports } = openPage()
  leave()
  for (let count = 0; count < 3; count += 1) code.preload()
  await settled()
  assert.equal(imports(), 0)
  comeBack()
  await settled()
  assert.equal(code.loaded, 'code')
  assert.equal(imports(), 1)
})

test('a page that has a service worker loads code without its server', async () => {
  const { code, page, store, leave } = openPage()
  leave()
  const loading = code.loadOnceServed()
  page.isControlled = true
  store.change({ canReopen: true })
  assert.equal(await loading, 'code')
})

test('an import that failed says so in a sentence, and is tried again', async () => {
  openPage()
  let isThere = false
  const code = new LateCode(async () => {
    if (!isThere) throw new TypeError('Failed to fetch dynamically imported module: https://localhost/a.js')
    return 'code'
  })
  await assert.rejects(code.load(), (error: Error) => !/https|module/.test(error.message))
  isThere = true
  assert.equal(await code.load(), 'code')
})
