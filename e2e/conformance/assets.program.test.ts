// The web app's files: content encoding by the client's preference, caching, and no other paths.

import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { httpVersions } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { connectHttp, type HttpClient } from '../clients/http-client.ts'

const script = 'export const gusts = 1\n'.repeat(100)
const icon = '<svg xmlns="http://www.w3.org/2000/svg"/>'
const path = '/assets/app-1a2B_-.js'

const folder = temporaryFolder()
let server: TestServer
before(async () => {
  await mkdir(join(folder, 'assets'))
  const write = (name: string, bytes: string | Buffer) => writeFile(join(folder, name), bytes)
  await write('index.html', '<script type="application/json" id="settings">null</script>shell')
  await write(path, script)
  await write(`${path}.br`, brotliCompressSync(script))
  await write(`${path}.gz`, gzipSync(script))
  await write('assets/icon-1a2B_-.svg', icon)
  server = await startTestServer({}, folder)
})
after(() => server.close())

for (const version of httpVersions)
  describe(`HTTP/${version}`, () => {
    let http: HttpClient
    before(() => {
      http = connectHttp(version, server.origin[version], server.ca)
    })
    after(() => http.close())

    async function ask(asked: string, headers: Record<string, string> = {}, method = 'GET') {
      const answer = await http.ask({ path: asked, headers, method })
      const portions: Buffer[] = []
      for await (const portion of answer.body) portions.push(portion)
      return { ...answer, body: Buffer.concat(portions) }
    }

    const asked: [accepted: string | null, coding: string | undefined][] = [
      [null, undefined],
      ['', undefined],
      ['identity', undefined],
      ['gzip, deflate, br, zstd', 'br'],
      ['br', 'br'],
      ['gzip, deflate', 'gzip'],
      ['BR;Q=1', 'br'],
      ['br;q=0.5, gzip;q=0.8', 'gzip'],
      ['br;q=0, gzip', 'gzip'],
      ['br; q=0.001', 'br'],
      ['gzip;q=0.5, identity;q=0.9', undefined],
      ['gzip;q=0.5, identity;q=0.2', 'gzip'],
      ['*', 'br'],
      ['*;q=0, gzip;q=0.1', 'gzip'],
      ['*;q=0.5, br;q=0', 'gzip'],
      ['br;q=0, gzip;q=0, identity;q=0', undefined],
      ['zstd, compress', undefined],
      ['br;q=x', undefined],
    ]
    for (const [accepted, coding] of asked)
      test(`${accepted === null ? 'no Accept-Encoding' : `Accept-Encoding "${accepted}"`} gets ${coding ?? 'the uncompressed file'}`, async () => {
        const { status, headers, body } = await ask(
          path,
          accepted === null ? {} : { 'accept-encoding': accepted },
        )
        assert.equal(status, 200)
        assert.equal(headers['content-encoding'], coding)
        const plain =
          coding === 'br' ? brotliDecompressSync(body) : coding === 'gzip' ? gunzipSync(body) : body
        assert.equal(plain.toString(), script)
        assert.equal(headers['content-length'], String(body.length))
        assert.match(String(headers['content-type']), /^(text|application)\/javascript\b/)
        assert.match(String(headers.vary), /\bAccept-Encoding\b/)
        assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
      })

    test('each encoding has its own ETag; a matching one gets 304', async () => {
      const tags = new Set<string>()
      for (const coding of ['br', 'gzip', 'identity']) {
        const { headers } = await ask(path, { 'accept-encoding': coding })
        const tag = String(headers.etag)
        tags.add(tag)
        const again = await ask(path, { 'accept-encoding': coding, 'if-none-match': tag })
        assert.deepEqual([again.status, again.body.length], [304, 0])
        assert.match(String(again.headers.vary), /\bAccept-Encoding\b/)
        const other = await ask(path, { 'accept-encoding': coding, 'if-none-match': '"other"' })
        assert.equal(other.status, 200)
      }
      assert.equal(tags.size, 3)
    })

    test('HEAD has the headers of GET', async () => {
      const { status, headers, body } = await ask(path, { 'accept-encoding': 'br' }, 'HEAD')
      assert.deepEqual([status, body.length, headers['content-encoding']], [200, 0, 'br'])
      assert.equal(headers['content-length'], String(brotliCompressSync(script).length))
    })

    test('range requests get the whole file', async () => {
      for (const coding of ['br', 'identity']) {
        const { status, headers } = await ask(path, { 'accept-encoding': coding, range: 'bytes=0-9' })
        assert.deepEqual([status, headers['accept-ranges']], [200, 'none'])
      }
    })

    test('a file without compressed variants is sent uncompressed', async () => {
      const { headers, body } = await ask('/assets/icon-1a2B_-.svg', { 'accept-encoding': 'br, gzip' })
      assert.equal(body.toString(), icon)
      assert.equal(headers['content-encoding'], undefined)
      assert.match(String(headers['content-type']), /^image\/svg\+xml/)
    })

    const nowhere = [
      '/assets/',
      '/assets/none.js',
      '/assets/../index.html',
      '/assets/..%2findex.html',
      '/assets/%2e%2e/index.html',
      `${path}.br`,
      `${path}.gz`,
      '/assets/.js',
    ]
    test('other paths get 404, which is not cached', async () => {
      for (const missing of nowhere) {
        const { status, headers, body } = await ask(missing, { 'accept-encoding': 'br' })
        assert.equal(status, 404, missing)
        assert.equal(headers['cache-control'], 'no-store', missing)
        assert.doesNotMatch(body.toString(), /shell/, missing)
      }
    })

    test('the page and the API are never compressed', async () => {
      for (const plain of ['/', '/api/settings', '/healthz']) {
        const { status, headers } = await ask(plain, { 'accept-encoding': 'br, gzip' })
        assert.deepEqual([status, headers['content-encoding']], [200, undefined], plain)
      }
    })
  })
