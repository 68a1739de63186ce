// Checks that the answer of the machine is told as it was given.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { probeNetem } from './netem.ts'

test('a kernel that takes the discipline has it', async () => {
  const words: string[] = []
  const found = await probeNetem(async (file, args) => words.push(file, ...args))
  assert.deepEqual(found, { isThere: true, why: '' })
  assert.match(words.join(' '), /^unshare .*--net .*-- tc qdisc add dev lo root netem/)
})

test('one that does not says why, in the words of tc', async () => {
  const refused = Object.assign(new Error('Command failed'), { stderr: 'qdisc kind is unknown.\n' })
  assert.deepEqual(await probeNetem(() => Promise.reject(refused)), {
    isThere: false,
    why: 'qdisc kind is unknown.',
  })
})

test('a machine without the command says that', async () => {
  const missing = new Error('spawn unshare ENOENT')
  assert.equal((await probeNetem(() => Promise.reject(missing))).why, 'spawn unshare ENOENT')
})

test('this machine gives one answer or the other', async () => {
  const { isThere, why } = await probeNetem()
  assert.equal(isThere, why === '')
})
