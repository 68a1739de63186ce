// When certificates are created, kept, renewed and loaded, and how faults are named.

import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { chmod, copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { ensureCertificate, loadCertificate, machineAddresses, machineNames } from './certificate.ts'
import { daysLater, today } from './testing.ts'
import { forbiddenHost, issueAuthority, issueLeaf } from './x509.ts'

const names = ['localhost', 'barge', 'barge.local']
const addresses = ['127.0.0.1', '::1', '192.168.7.20', '203.0.113.9', '2001:db8::20']

async function ensure(directory: string, change: Partial<Parameters<typeof ensureCertificate>[0]> = {}) {
  const authority = () => readFile(join(directory, 'authority.pem'), 'utf8').catch(() => '')
  const before = await authority()
  const ensured = await ensureCertificate({ directory, now: today, names, addresses, ...change })
  const renewed = (await authority()) === before ? 'leaf' : 'everything'
  return { ...ensured, made: ensured.reason === null ? 'nothing' : renewed }
}

test('the first start creates an authority and a certificate that covers every name and address', async (t) => {
  const directory = temporaryFolder(t)
  const { made, cert, authorityFile } = await ensure(directory)
  const certificate = new X509Certificate(cert)
  assert.equal(made, 'everything')
  assert.equal(authorityFile, join(directory, 'authority.pem'))
  for (const name of names) assert.equal(certificate.checkHost(name), name)
  for (const address of addresses) assert.ok(certificate.checkIP(address), address)
  assert.equal(certificate.checkHost('example.com'), undefined)
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  assert.equal(certificate.ca, false)
  // Up to 20 octets, at least 64 bits of them random (RFC 5280, 4.1.2.2; Baseline Requirements,
  // 7.1).
  assert.match(certificate.serialNumber, /^[0-9A-F]{20,40}$/)
  assert.equal(certificate.validToDate.getTime() - certificate.validFromDate.getTime(), 397 * 86_400_000)
})

test('names and addresses are the machine’s own by default', async (t) => {
  const { cert } = await ensureCertificate({ directory: temporaryFolder(t), now: today })
  const certificate = new X509Certificate(cert)
  for (const name of machineNames()) assert.ok(certificate.checkHost(name), name)
  for (const address of machineAddresses()) assert.ok(certificate.checkIP(address), address)
})

test('a machine named like a top-level domain is reached only by its .local name', async (t) => {
  const machine = ['localhost', 'dev', 'dev.local', 'github.io']
  const hosts = [...machine, ...addresses]
  const directory = temporaryFolder(t)
  // As created by an earlier version: if trusted, it could sign for web.dev.
  const authority = await issueAuthority({ now: today, machine: 'dev', hosts })
  const leaf = await issueLeaf(authority, { now: today, machine: 'dev', hosts })
  for (const [name, { cert, key }] of Object.entries({ authority, server: leaf })) {
    await writeFile(join(directory, `${name}.pem`), cert)
    await writeFile(join(directory, `${name}.key`), key, { mode: 0o600 })
  }
  const { made, reason, cert, authorityFile } = await ensure(directory, { names: machine })
  assert.equal(made, 'everything')
  assert.match(reason ?? '', /authority\.pem may vouch for every name under \.dev$/)
  const certificate = new X509Certificate(cert)
  assert.equal(certificate.checkHost('dev.local'), 'dev.local')
  const { raw } = new X509Certificate(await readFile(authorityFile))
  for (const name of ['dev', 'github.io']) {
    assert.equal(certificate.checkHost(name), undefined)
    assert.equal(forbiddenHost(raw, [name]), name)
  }
  assert.equal((await ensure(directory, { names: machine })).made, 'nothing')
})

test('the chain ends with the authority', async (t) => {
  const { cert, authorityFile } = await ensure(temporaryFolder(t))
  const authority = await readFile(authorityFile, 'utf8')
  assert.ok(cert.endsWith(authority))
  assert.ok(new X509Certificate(cert).verify(new X509Certificate(authority).publicKey))
})

test('only the owner may read the keys, and nothing else is left in the directory', async (t) => {
  const directory = temporaryFolder(t)
  await ensure(directory)
  assert.deepEqual((await readdir(directory)).sort(), [
    'authority.key',
    'authority.pem',
    'server.key',
    'server.pem',
  ])
  for (const key of ['authority.key', 'server.key']) {
    assert.equal((await stat(join(directory, key))).mode & 0o777, 0o600)
  }
})

test('revokes others’ access to a key', async (t) => {
  const directory = temporaryFolder(t)
  await ensure(directory)
  await chmod(join(directory, 'server.key'), 0o644)
  await ensure(directory)
  assert.equal((await stat(join(directory, 'server.key'))).mode & 0o777, 0o600)
})

test('a valid certificate is used again', async (t) => {
  const directory = temporaryFolder(t)
  const first = await ensure(directory)
  const second = await ensure(directory, { now: daysLater(365) })
  assert.equal(second.made, 'nothing')
  assert.equal(second.reason, null)
  assert.equal(second.cert, first.cert)
  assert.equal(second.key, first.key)
})

test('only the leaf is renewed 30 days before its end, and when the clock was set back', async (t) => {
  const directory = temporaryFolder(t)
  const first = await ensure(directory)
  const second = await ensure(directory, { now: daysLater(367) })
  assert.equal(second.made, 'leaf')
  assert.match(second.reason ?? '', /server\.pem ends on 2027-12-22$/)
  assert.notEqual(second.cert, first.cert)
  assert.ok(second.cert.endsWith(await readFile(first.authorityFile, 'utf8')))
  assert.equal((await ensure(directory, { now: daysLater(360) })).made, 'leaf')
})

test('the authority is renewed before its end, although the leaf would last', async (t) => {
  const directory = temporaryFolder(t)
  await ensure(directory)
  assert.equal((await ensure(directory, { now: daysLater(3300) })).made, 'leaf')
  const { made, reason } = await ensure(directory, { now: daysLater(3625) })
  assert.equal(made, 'everything')
  assert.match(reason ?? '', /authority\.pem ends on/)
})

test('a leaf of another authority is replaced', async (t) => {
  const directory = temporaryFolder(t)
  const other = temporaryFolder(t)
  await ensure(directory)
  await ensure(other)
  for (const file of ['server.pem', 'server.key']) await copyFile(join(other, file), join(directory, file))
  const { made, reason } = await ensure(directory)
  assert.equal(made, 'leaf')
  assert.match(reason ?? '', /server\.pem is not signed by .*authority\.pem$/)
})

test('a new private address renews the leaf; a new name needs a new authority', async (t) => {
  const directory = temporaryFolder(t)
  await ensure(directory)
  const moved = await ensure(directory, { addresses: [...addresses, '10.1.2.3', '2001:db8:9::1'] })
  assert.equal(moved.made, 'leaf')
  assert.match(moved.reason ?? '', /server\.pem does not cover 10\.1\.2\.3$/)
  const renamed = await ensure(directory, { names: [...names, 'crate'] })
  assert.equal(renamed.made, 'everything')
  assert.match(renamed.reason ?? '', /authority\.pem may not vouch for crate$/)
})

for (const [file, made] of [
  ['server.pem', 'leaf'],
  ['server.key', 'leaf'],
  ['authority.pem', 'everything'],
] as const) {
  test(`a damaged ${file} is replaced and named`, async (t) => {
    const directory = temporaryFolder(t)
    await ensure(directory)
    await writeFile(join(directory, file), '-----BEGIN nonsense')
    const again = await ensure(directory)
    assert.equal(again.made, made)
    assert.match(again.reason ?? '', new RegExp(`${file} is not a `))
    assert.equal((await ensure(directory)).made, 'nothing')
  })
}

test('a key of another certificate is replaced', async (t) => {
  const directory = temporaryFolder(t)
  await ensure(directory)
  await copyFile(join(directory, 'authority.key'), join(directory, 'server.key'))
  const { made, reason } = await ensure(directory)
  assert.equal(made, 'leaf')
  assert.match(reason ?? '', /server\.key is not the key of .*server\.pem$/)
})

test('an authority without its key serves until the leaf must be renewed', async (t) => {
  const directory = temporaryFolder(t)
  await ensure(directory)
  await rm(join(directory, 'authority.key'))
  assert.equal((await ensure(directory)).made, 'nothing')
  assert.equal((await ensure(directory, { now: daysLater(380) })).made, 'everything')
})

test('one of several concurrent starts creates the certificate, and all use it', async (t) => {
  const directory = join(temporaryFolder(t), 'new')
  const all = await Promise.all([1, 2, 3].map(() => ensure(directory)))
  assert.equal(new Set(all.map(({ cert }) => cert)).size, 1)
  assert.deepEqual(all.map(({ made }) => made).sort(), ['everything', 'nothing', 'nothing'])
})

test('a directory that cannot be written is named', async (t) => {
  const directory = join(temporaryFolder(t), 'file')
  await writeFile(directory, '')
  await assert.rejects(ensure(directory), {
    name: 'CertificateError',
    message: `${directory} cannot be written`,
  })
})

test('a file that is in the way is named', async (t) => {
  const directory = temporaryFolder(t)
  await mkdir(join(directory, 'server.pem'))
  await assert.rejects(ensure(directory), /server\.pem cannot be written$/)
})

async function ownFiles(t: TestContext) {
  const directory = temporaryFolder(t)
  const order = { directory, now: today, names: ['localhost'], addresses: ['127.0.0.1'] }
  const { cert, key } = await ensureCertificate(order)
  const file = (name: string) => join(directory, name)
  return { cert, key, file, certFile: file('server.pem'), keyFile: file('server.key') }
}

test('loads a certificate and its key', async (t) => {
  const { cert, key, certFile, keyFile } = await ownFiles(t)
  const loaded = await loadCertificate({ certFile, keyFile }, today)
  assert.deepEqual(loaded, { cert, key })
})

test('names a file that is missing or cannot be read', async (t) => {
  const { file, certFile, keyFile } = await ownFiles(t)
  await mkdir(file('folder'))
  const missing = loadCertificate({ certFile: file('none.pem'), keyFile }, today)
  await assert.rejects(missing, { name: 'CertificateError', message: `${file('none.pem')} is missing` })
  const folder = loadCertificate({ certFile, keyFile: file('folder') }, today)
  await assert.rejects(folder, { message: `${file('folder')} cannot be read (EISDIR)` })
})

test('names a file that is not PEM', async (t) => {
  const { file, certFile, keyFile } = await ownFiles(t)
  await writeFile(file('noise'), 'noise')
  const cert = loadCertificate({ certFile: file('noise'), keyFile }, today)
  await assert.rejects(cert, { message: `${file('noise')} is not a certificate in PEM form` })
  const key = loadCertificate({ certFile, keyFile: file('noise') }, today)
  await assert.rejects(key, { message: `${file('noise')} is not a private key in PEM form` })
})

test('says what to do about a key with a passphrase', async (t) => {
  const { key, file, certFile } = await ownFiles(t)
  const options = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  await writeFile(file('locked.key'), createPrivateKey(key).export(options))
  const loading = loadCertificate({ certFile, keyFile: file('locked.key') }, today)
  await assert.rejects(loading, /locked\.key has a passphrase; remove it with: openssl/)
})

test('names a key that belongs to another certificate', async (t) => {
  const { file, certFile } = await ownFiles(t)
  const loading = loadCertificate({ certFile, keyFile: file('authority.key') }, today)
  await assert.rejects(loading, { message: `${file('authority.key')} is not the key of ${certFile}` })
})

test('names an expired certificate', async (t) => {
  const { certFile, keyFile } = await ownFiles(t)
  const loading = loadCertificate({ certFile, keyFile }, daysLater(400))
  await assert.rejects(loading, { message: `${certFile} ended on 2027-12-22` })
})

test('a machine has its name, and that name in multicast DNS', () => {
  assert.deepEqual(machineNames('Box'), ['localhost', 'box', 'box.local'])
  assert.deepEqual(machineNames('box.local'), ['localhost', 'box.local'])
  assert.deepEqual(machineNames('box.example.org'), ['localhost', 'box.example.org', 'box.local'])
  assert.deepEqual(machineNames('localhost'), ['localhost', 'localhost.local'])
  assert.deepEqual(machineNames("Ann's box"), ['localhost'])
})

test('a machine has the addresses of its interfaces except link-local IPv6', () => {
  const entry = (address: string) => ({
    address,
    netmask: '',
    mac: '',
    internal: false,
    cidr: null,
    ...(address.includes(':') ? { family: 'IPv6' as const, scopeid: 0 } : { family: 'IPv4' as const }),
  })
  const interfaces = {
    eth0: [entry('10.0.0.7'), entry('fe80::7'), entry('fd00::7')],
    lo: [entry('127.0.0.1')],
  }
  assert.deepEqual(machineAddresses(interfaces), ['127.0.0.1', '::1', '10.0.0.7', 'fd00::7'])
})
