// Checks that a certificate of the user's own is loaded, and that each fault names its file.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ensureCertificate } from './certificate.ts'
import { publicKeyFingerprint } from './fingerprint.ts'
import { loadCertificate } from './load.ts'
import { daysLater, emptyDirectory, needsOpenssl, today } from './testing.ts'

async function ownFiles(t: TestContext) {
  const directory = await emptyDirectory(t)
  const order = { directory, now: today, names: ['localhost'], addresses: ['127.0.0.1'] }
  const { cert, key } = await ensureCertificate(order)
  const file = (name: string) => join(directory, name)
  return { cert, key, file, certFile: file('server.pem'), keyFile: file('server.key') }
}

test('loads a certificate and its key', async (t) => {
  const { cert, key, certFile, keyFile } = await ownFiles(t)
  const loaded = await loadCertificate({ certFile, keyFile, now: today })
  assert.deepEqual(loaded, { cert, key, expires: new Date('2027-12-22T12:00:00Z') })
})

test('names a file that is missing or cannot be read', async (t) => {
  const { file, certFile, keyFile } = await ownFiles(t)
  await mkdir(file('folder'))
  const missing = loadCertificate({ certFile: file('none.pem'), keyFile, now: today })
  await assert.rejects(missing, { name: 'CertificateError', message: `${file('none.pem')} is missing` })
  const folder = loadCertificate({ certFile, keyFile: file('folder'), now: today })
  await assert.rejects(folder, { message: `${file('folder')} cannot be read (EISDIR)` })
})

test('names a file that is not PEM', async (t) => {
  const { file, certFile, keyFile } = await ownFiles(t)
  await writeFile(file('noise'), 'noise')
  const cert = loadCertificate({ certFile: file('noise'), keyFile, now: today })
  await assert.rejects(cert, { message: `${file('noise')} is not a certificate in PEM form` })
  const key = loadCertificate({ certFile, keyFile: file('noise'), now: today })
  await assert.rejects(key, { message: `${file('noise')} is not a private key in PEM form` })
})

test('says what to do about a key with a passphrase', async (t) => {
  const { key, file, certFile } = await ownFiles(t)
  const options = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  await writeFile(file('locked.key'), createPrivateKey(key).export(options))
  const loading = loadCertificate({ certFile, keyFile: file('locked.key'), now: today })
  await assert.rejects(loading, /locked\.key has a passphrase; take it off with: openssl/)
})

test('names a key that belongs to another certificate', async (t) => {
  const { file, certFile } = await ownFiles(t)
  const loading = loadCertificate({ certFile, keyFile: file('authority.key'), now: today })
  await assert.rejects(loading, { message: `${file('authority.key')} is not the key of ${certFile}` })
})

test('names a certificate that has ended', async (t) => {
  const { certFile, keyFile } = await ownFiles(t)
  const loading = loadCertificate({ certFile, keyFile, now: daysLater(400) })
  await assert.rejects(loading, { message: `${certFile} ended on 2027-12-22` })
})

test('the fingerprint is that of the public key', needsOpenssl, async (t) => {
  const { certFile } = await ownFiles(t)
  const openssl = (args: string, input: Buffer) => execFileSync('openssl', args.split(' '), { input })
  const key = openssl('x509 -pubkey -noout', await readFile(certFile))
  const digest = openssl('dgst -sha256 -binary', openssl('pkey -pubin -outform der', key))
  assert.equal(publicKeyFingerprint(await readFile(certFile, 'utf8')), digest.toString('base64'))
})
