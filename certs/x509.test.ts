// Certificates under real TLS, with Node and openssl, and the hosts that an authority may sign for.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { openPort } from '../scripts/open-port.ts'
import { ensureCertificate } from './certificate.ts'
import { needsOpenssl } from './testing.ts'
import { forbiddenHost, issueAuthority, issueLeaf, type Pair } from './x509.ts'

const order = { now: new Date(), names: ['localhost', 'barge'], addresses: ['127.0.0.1', '::1'] }

/** Why the client rejects the certificate of `host`; null if it accepts it. */
async function refusal(t: TestContext, pair: Pair, ca: string, host: string): Promise<string | null> {
  const server = createServer({ ...pair, minVersion: 'TLSv1.2' }, (socket) => socket.end('hello'))
  server.on('tlsClientError', () => server.close())
  t.after(() => server.close())
  const port = await openPort(server)
  // An address cannot be a server name (RFC 6066, section 3), but the certificate is checked
  // against it.
  const servername = isIP(host) === 0 ? host : ''
  const socket = connect({ host: '127.0.0.1', port, ca, servername, rejectUnauthorized: true })
  t.after(() => socket.destroy())
  return once(socket, 'secureConnect').then(
    () => null,
    (error: unknown) => String(error),
  )
}

for (const host of ['localhost', '127.0.0.1', 'barge']) {
  test(`a client that trusts only the authority accepts ${host}`, async (t) => {
    const { authorityFile, ...pair } = await ensureCertificate({
      directory: temporaryFolder(t),
      ...order,
    })
    const ca = await readFile(authorityFile, 'utf8')
    assert.equal(await refusal(t, pair, ca, host), null)
  })
}

test('a client that trusts another authority refuses', async (t) => {
  const pair = await ensureCertificate({ directory: temporaryFolder(t), ...order })
  const other = await ensureCertificate({ directory: temporaryFolder(t), ...order })
  const ca = await readFile(other.authorityFile, 'utf8')
  assert.match((await refusal(t, pair, ca, 'localhost')) ?? '', /certificate/)
})

test('a certificate for a foreign site is rejected, although the authority signed it', async (t) => {
  const directory = temporaryFolder(t)
  const { authorityFile } = await ensureCertificate({ directory, ...order })
  const ca = await readFile(authorityFile, 'utf8')
  const key = await readFile(join(directory, 'authority.key'), 'utf8')
  for (const host of ['bank.example', '203.0.113.66']) {
    const forged = await issueLeaf({ cert: ca, key }, { now: order.now, machine: 'barge', hosts: [host] })
    assert.match((await refusal(t, forged, ca, host)) ?? '', /permitted subtree violation/)
  }
})

test('openssl accepts the chain', needsOpenssl, async (t) => {
  const directory = temporaryFolder(t)
  const { authorityFile } = await ensureCertificate({ directory, ...order })
  const strict = ['-x509_strict', '-purpose', 'sslserver', '-verify_hostname', 'localhost']
  const args = ['verify', ...strict, '-CAfile', authorityFile, join(directory, 'server.pem')]
  const { status, stdout, stderr } = spawnSync('openssl', args, { encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
})

const authorityFor = async (...hosts: readonly string[]) => {
  const { cert } = await issueAuthority({ now: order.now, machine: 'barge', hosts })
  return new X509Certificate(cert).raw
}

test('an authority may sign for its own hosts and local networks, and for no others', async () => {
  const authority = await authorityFor('localhost', 'barge', '203.0.113.9')
  const permitted = ['barge', '203.0.113.9', '192.168.1.1', '172.31.0.1', '::1', 'fd12::1', '2001:db8::1']
  assert.equal(forbiddenHost(authority, permitted), undefined)
  for (const host of ['bo', 'ox', 'example.com', '203.0.113.8', '172.32.0.1', '8.8.8.8', '::2']) {
    assert.equal(forbiddenHost(authority, ['barge', host]), host)
  }
})

test('an authority without constraints may sign for no host', async () => {
  const authority = await issueAuthority({ ...order, machine: 'barge', hosts: ['barge'] })
  const leaf = await issueLeaf(authority, { ...order, machine: 'barge', hosts: ['barge'] })
  assert.equal(forbiddenHost(new X509Certificate(leaf.cert).raw, ['barge']), 'barge')
})

test('addresses and masks are written as bytes', async () => {
  const ones = (count: number) => 'ff'.repeat(count)
  const zeros = (count: number) => '00'.repeat(count)
  for (const [host, subtree] of [
    ['203.0.113.9', `300a8708cb007109${ones(4)}`],
    ['172.16.7.20', '300a8708ac100000fff00000'],
    ['::1', `30228720${zeros(15)}01${ones(16)}`],
    ['2001:db8::', `3022872020${zeros(15)}e0${zeros(15)}`],
    ['fe80::7', `30228720fe80${zeros(14)}ffc0${zeros(14)}`],
    ['ff02::1:2:3', `30228720ff02${zeros(8)}000100020003${ones(16)}`],
    ['::ffff:127.0.0.1', `30228720${zeros(10)}ffff7f000001${ones(16)}`],
    ['1:2:3:4:5:6:7:8', `3022872000010002000300040005000600070008${ones(16)}`],
  ] as const) {
    const bytes = (await authorityFor(host)).toString('hex')
    assert.ok(bytes.includes(subtree), host)
  }
})

test('DER lengths are as short as possible, for few names and many', async () => {
  const letters = (count: number) => 'a'.repeat(count)
  // 10 networks take 216 bytes, a name of 40 letters 44 more.
  for (const [names, start] of [
    [[], '0603551d1e0101ff0481de3081dba081d8'],
    [[letters(40)], '0603551d1e0101ff0482010c30820108a0820104'],
    [[letters(200)], '3081cb8281c8'],
  ] as const) {
    const bytes = (await authorityFor(...names)).toString('hex')
    assert.ok(bytes.includes(start), `${names.length} names`)
  }
  const tooMany = Array.from({ length: 1000 }, (_, index) => `${index}${letters(60)}`)
  await assert.rejects(authorityFor(...tooMany), RangeError)
})
