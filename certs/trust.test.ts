// The commands that make browsers trust an authority, on each system.

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { ensureCertificate } from './certificate.ts'
import { planTrust } from './trust.ts'

async function authorityOf(t: TestContext) {
  const order = { directory: temporaryFolder(t), now: new Date(), names: ['localhost'], addresses: [] }
  const { authorityFile } = await ensureCertificate(order)
  const authority = readFileSync(authorityFile, 'utf8')
  return { authority, authorityFile, certificate: new X509Certificate(authority) }
}

/** The folders are relative to the home folder. */
const systemWith = (
  platform: NodeJS.Platform,
  folders: Readonly<Record<string, readonly string[]>> = {},
) => ({
  platform,
  home: '/home/ann',
  list: (folder: string) => folders[folder.replace('/home/ann/', '')] ?? [],
})

test('on Linux, Chromium’s store is made if it is missing, and each profile of Firefox gets the authority', async (t) => {
  const { authority, authorityFile, certificate } = await authorityOf(t)
  const system = systemWith('linux', {
    '.mozilla/firefox': ['profiles.ini', 'a.default', 'b.empty'],
    '.mozilla/firefox/a.default': ['cert9.db'],
    'snap/firefox/common/.mozilla/firefox': ['c.default'],
    'snap/firefox/common/.mozilla/firefox/c.default': ['cert9.db'],
  })
  const name = `Crosswind ${certificate.fingerprint256.replaceAll(':', '').slice(0, 8)}`
  const steps = planTrust({ system, authority, authorityFile, undo: false })
  const add = (folder: string) =>
    `certutil -d sql:/home/ann/${folder} -A -t C,, -n ${name} -i ${authorityFile}`
  assert.deepEqual(
    steps.map(({ folders, commands }) => [folders, commands.map((words) => words.join(' '))]),
    [
      [
        ['/home/ann/.pki/nssdb'],
        ['certutil -d sql:/home/ann/.pki/nssdb -N --empty-password', add('.pki/nssdb')],
      ],
      [[], [add('.mozilla/firefox/a.default')]],
      [[], [add('snap/firefox/common/.mozilla/firefox/c.default')]],
    ],
  )
  const undone = planTrust({ system, authority, authorityFile, undo: true })
  assert.deepEqual(
    undone.flatMap(({ commands }) => commands.map((words) => words.join(' '))),
    [
      `certutil -d sql:/home/ann/.mozilla/firefox/a.default -D -n ${name}`,
      `certutil -d sql:/home/ann/snap/firefox/common/.mozilla/firefox/c.default -D -n ${name}`,
    ],
  )
})

test('undoing first asks each store of Linux whether it has the authority', async (t) => {
  const { authority, authorityFile } = await authorityOf(t)
  const system = systemWith('linux', { '.pki/nssdb': ['cert9.db'] })
  const [step, ...others] = planTrust({ system, authority, authorityFile, undo: true })
  assert.deepEqual(
    [step?.finding?.slice(0, 4), others],
    [['certutil', '-d', 'sql:/home/ann/.pki/nssdb', '-L'], []],
  )
})

test('on macOS and Windows the user’s own store is changed, and undone by the certificate’s fingerprint', async (t) => {
  const { authority, authorityFile, certificate } = await authorityOf(t)
  const sha1 = certificate.fingerprint.replaceAll(':', '')
  const commands = (platform: NodeJS.Platform, undo: boolean) =>
    planTrust({ system: systemWith(platform), authority, authorityFile, undo }).flatMap((step) =>
      step.commands.map((words) => words.join(' ')),
    )
  const keychain = '/home/ann/Library/Keychains/login.keychain-db'
  assert.deepEqual(commands('darwin', false), [
    `security add-trusted-cert -r trustRoot -k ${keychain} ${authorityFile}`,
  ])
  assert.deepEqual(commands('darwin', true), [
    `security remove-trusted-cert ${authorityFile}`,
    `security delete-certificate -Z ${sha1} ${keychain}`,
  ])
  assert.deepEqual(commands('win32', false), [`certutil.exe -user -addstore Root ${authorityFile}`])
  assert.deepEqual(commands('win32', true), [`certutil.exe -user -delstore Root ${sha1}`])
})
