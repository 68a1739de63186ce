import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caddyVersion, type FrontSettings, frontConfig } from './caddy.ts'

const settings: FrontSettings = {
  host: 'localhost',
  ports: [{ port: 8445, protocols: ['h1', 'h2', 'h3'] }],
  upstreamPort: 8444,
  certFile: '/a b/server.pem',
  keyFile: '/a b/server.key',
}

test('the front is reached where the server is, and reaches it', () => {
  for (const [host, listen, dial] of [
    ['0.0.0.0', ':8445', '127.0.0.1:8444'],
    ['::', ':8445', '127.0.0.1:8444'],
    ['10.0.0.7', '10.0.0.7:8445', '10.0.0.7:8444'],
    ['fd00::7', '[fd00::7]:8445', '[fd00::7]:8444'],
  ] as const) {
    const text = JSON.stringify(frontConfig({ ...settings, host }, 'wind.example'))
    assert.ok(text.includes(`"listen":["${listen}"]`), text)
    assert.ok(text.includes(`"upstreams":[{"dial":"${dial}"}]`), text)
  }
  const local = JSON.stringify(frontConfig(settings, 'wind.example'))
  assert.match(local, /"listen":\[("\[::1\]:8445",)?"127\.0\.0\.1:8445"\]/)
  assert.ok(local.includes('"upstreams":[{"dial":"127.0.0.1:8444"}]'), local)
})

test('each port has its own protocols, and the same way to the server', () => {
  const ports = [
    { port: 8445, protocols: ['h1', 'h2', 'h3'] },
    { port: 8446, protocols: ['h1'] },
  ] as const
  const text = JSON.stringify(frontConfig({ ...settings, host: '10.0.0.7', ports }, 'wind.example'))
  assert.match(text, /"listen":\["10\.0\.0\.7:8445"\],"protocols":\["h1","h2","h3"\]/)
  assert.match(text, /"listen":\["10\.0\.0\.7:8446"\],"protocols":\["h1"\]/)
  assert.equal(text.split('"upstreams":[{"dial":"10.0.0.7:8444"}]').length, 3)
})

test('without Caddy one sentence says how to get it', async (t) => {
  const { PATH } = process.env
  process.env.PATH = ''
  t.after(() => {
    process.env.PATH = PATH
  })
  await assert.rejects(
    caddyVersion('Otherwise leave it.'),
    /^Error: HTTP\/3 needs Caddy, which is not installed: .+ Otherwise leave it\.$/,
  )
})
