import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frontConfig } from './http3-front.ts'

const settings = {
  host: 'localhost',
  port: 8445,
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
    const text = JSON.stringify(frontConfig({ ...settings, host }))
    assert.ok(text.includes(`"listen":["${listen}"]`), text)
    assert.ok(text.includes(`"upstreams":[{"dial":"${dial}"}]`), text)
  }
  const local = JSON.stringify(frontConfig(settings))
  assert.match(local, /"listen":\[("\[::1\]:8445",)?"127\.0\.0\.1:8445"\]/)
  assert.ok(local.includes('"upstreams":[{"dial":"127.0.0.1:8444"}]'), local)
})
