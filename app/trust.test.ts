// What the command says and asks before it changes anything, and what it says of failures.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Step } from '../certs/trust.ts'
import { trust } from './trust.ts'

const steps: readonly Step[] = [
  { who: 'Chromium', folders: ['/home/ann/.pki/nssdb'], finding: null, commands: [['make'], ['add']] },
  { who: 'Firefox, /home/ann/a', folders: [], finding: null, commands: [['fail']] },
]
const undoing: readonly Step[] = [
  { who: 'Chromium', folders: [], finding: ['find'], commands: [['remove']] },
  { who: 'Firefox', folders: [], finding: ['fail'], commands: [['remove']] },
]

/** Runs it with an answer to its question; null if nobody can be asked. */
async function said(argv: readonly string[], answer: string | null, plan: readonly Step[] = steps) {
  const done: string[] = []
  const texts: string[] = []
  const failure = await trust(argv, {
    authority: async () => ({ pem: 'PEM', file: 'certs/authority.pem' }),
    plan: () => plan,
    run([command]) {
      done.push(command)
      return command === 'fail' ? 'It is locked.' : null
    },
    makeFolder: (folder) => void done.push(folder),
    ask: answer === null ? null : async () => answer,
    print: (text) => void texts.push(text),
  }).then(
    () => null,
    (error: Error) => error.message,
  )
  return { done, text: texts.join(''), failure }
}

test('it says whose trust it is, what the risk is and how to undo it, and does nothing unless told so', async () => {
  for (const answer of ['', 'n', 'later']) {
    const { done, text } = await said([], answer)
    assert.deepEqual(done, [])
    assert.match(text, /certs\/authority\.pem.*Chromium.*Firefox.*intercept.*--undo.*Nothing was changed/s)
  }
  const { done, failure } = await said([], null)
  assert.deepEqual([done, failure], [[], 'Nobody can be asked here; agree with --yes.'])
})

test('each step is taken, and a failure names its browser', async () => {
  for (const given of [said([], 'y'), said([], ' Yes '), said(['--yes'], null)]) {
    const { done, failure } = await given
    assert.deepEqual(done, ['/home/ann/.pki/nssdb', 'make', 'add', 'fail'])
    assert.equal(failure, 'Firefox, /home/ann/a was not changed: It is locked.')
  }
})

test('undoing asks nothing, leaves stores alone that have no such certificate, and says what failed', async () => {
  const { done, text, failure } = await said(['--undo'], null, undoing)
  assert.deepEqual([done, failure], [['find', 'fail', 'remove'], null])
  assert.match(text, /will no longer trust.*Chromium\n.*Done/s)
  assert.doesNotMatch(text, /Firefox/)
  assert.match((await said(['--undo'], null, undoing.slice(1))).text, /No browser of this account trusts/)
  const failing: readonly Step[] = [{ who: 'Firefox', folders: [], finding: null, commands: [['fail']] }]
  assert.equal((await said(['--undo'], null, failing)).failure, 'Firefox was not changed: It is locked.')
})

test('wrong flags and a computer without browsers get a sentence', async () => {
  assert.match((await said(['--forever'], null)).failure ?? '', /--forever/)
  assert.match((await said(['--port', '1'], null)).failure ?? '', /--port.* is for the server/)
  assert.match((await said([], 'y', [])).failure ?? '', /No browser/)
  assert.match((await said(['--help'], null)).text, /npm run trust -- --undo/)
})
