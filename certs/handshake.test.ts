// Checks the certificates with real TLS: Node's client, which trusts the authority alone, and openssl where it is.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, isIP } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { ensureCertificate } from './certificate.ts'
import { issueLeaf } from './issue.ts'
import type { Pair } from './pair.ts'
import { emptyDirectory, needsOpenssl } from './testing.ts'

const order = { now: new Date(), names: ['localhost', 'box'], addresses: ['127.0.0.1', '::1'] }

/** Why the client refuses to talk to `host`; null when it accepts the certificate. */
async function refusal(t: TestContext, pair: Pair, ca: string, host: string): Promise<string | null> {
  const server = createServer({ ...pair, minVersion: 'TLSv1.2' }, (socket) => socket.end('hello'))
  server.on('tlsClientError', () => server.close())
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  // An address cannot be a server name (RFC 6066, section 3), but the certificate is checked against it.
  const servername = isIP(host) === 0 ? host : ''
  const socket = connect({ host: '127.0.0.1', port, ca, servername, rejectUnauthorized: true })
  t.after(() => socket.destroy())
  return once(socket, 'secureConnect').then(
    () => null,
    (error: unknown) => String(error),
  )
}

for (const host of ['localhost', '127.0.0.1', 'box']) {
  test(`a client that trusts only the authority accepts ${host}`, async (t) => {
    const { authorityFile, ...pair } = await ensureCertificate({
      directory: await emptyDirectory(t),
      ...order,
    })
    const ca = await readFile(authorityFile, 'utf8')
    assert.equal(await refusal(t, pair, ca, host), null)
  })
}

test('a client that trusts another authority refuses', async (t) => {
  const pair = await ensureCertificate({ directory: await emptyDirectory(t), ...order })
  const other = await ensureCertificate({ directory: await emptyDirectory(t), ...order })
  const ca = await readFile(other.authorityFile, 'utf8')
  assert.match((await refusal(t, pair, ca, 'localhost')) ?? '', /certificate/)
})

test('a certificate for a foreign site is refused, although the authority signed it', async (t) => {
  const directory = await emptyDirectory(t)
  const { authorityFile } = await ensureCertificate({ directory, ...order })
  const ca = await readFile(authorityFile, 'utf8')
  const key = await readFile(join(directory, 'authority.key'), 'utf8')
  for (const host of ['bank.example', '203.0.113.66']) {
    const forged = await issueLeaf({ cert: ca, key }, { now: order.now, machine: 'box', hosts: [host] })
    assert.match((await refusal(t, forged, ca, host)) ?? '', /permitted subtree violation/)
  }
})

test('openssl accepts the chain', needsOpenssl, async (t) => {
  const directory = await emptyDirectory(t)
  const { authorityFile } = await ensureCertificate({ directory, ...order })
  const strict = ['-x509_strict', '-purpose', 'sslserver', '-verify_hostname', 'localhost']
  const args = ['verify', ...strict, '-CAfile', authorityFile, join(directory, 'server.pem')]
  const { status, stdout, stderr } = spawnSync('openssl', args, { encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
})
