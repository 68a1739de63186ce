// What the command says and asks before it changes anything, and what it says of failures.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trust } from './trust.ts'

const steps = [
  { who: 'Chromium and Chrome', folders: ['/home/ann/.pki/nssdb'], commands: [['make'], ['add']] },
  { who: 'Firefox, /home/ann/a', folders: [], commands: [['fail']] },
] as const

/** Runs it with an answer to its question; null if nobody can be asked. */
async function said(argv: readonly string[], answer: string | null, plan: typeof steps | [] = steps) {
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
    assert.match(
      text,
      /certs\/authority\.pem.*Chromium and Chrome.*Firefox.*intercept.*--undo.*Nothing was changed/s,
    )
  }
  const { done, failure } = await said([], null)
  assert.deepEqual([done, failure], [[], 'Nobody can be asked here; agree with --yes.'])
})

test('each step is taken, and a failure names its browser', async () => {
  for (const given of [said([], 'y'), said([], ' Yes '), said(['--yes'], null)]) {
    const { done, failure } = await given
    assert.deepEqual(done, ['/home/ann/.pki/nssdb', 'make', 'add', 'fail'])
    assert.equal(failure, 'Firefox, /home/ann/a: It is locked.')
  }
})

test('undoing asks nothing, and a store that has no such certificate is no failure', async () => {
  const { text, failure } = await said(['--undo'], null)
  assert.equal(failure, null)
  assert.match(text, /no longer trust.*Done/s)
})

test('wrong flags and a computer without browsers get a sentence', async () => {
  assert.match((await said(['--forever'], null)).failure ?? '', /--forever/)
  assert.match((await said(['--port', '1'], null)).failure ?? '', /--port.* is for the server/)
  assert.match((await said([], 'y', [])).failure ?? '', /No browser/)
  assert.match((await said(['--help'], null)).text, /npm run trust -- --undo/)
})
