import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOwnOrigin, type OriginRules, refuseForeign } from './origins.ts'

const allowedOrigins = ['https://wind.example.org']
const usual: OriginRules = { ports: () => [8443, 8444], allowedOrigins }
const onDefaultPort: OriginRules = { ports: () => [443, 8444], allowedOrigins: [] }

type Case = [origin: string | undefined, host: string | undefined, isOwn: boolean, rules?: OriginRules]

const cases: Readonly<Record<string, readonly Case[]>> = {
  'its own page on the same port, or on its other one': [
    ['https://localhost:8443', 'localhost:8443', true],
    ['https://localhost:8443', 'localhost:8444', true],
    ['https://localhost:8444', 'localhost:8443', true],
    ['https://127.0.0.1:8443', '127.0.0.1:8444', true],
    ['https://LOCALHOST:8443', 'localhost:8444', true],
  ],
  'another port of the same machine is another server': [
    ['https://localhost:9000', 'localhost:8443', false],
    ['https://localhost', 'localhost:8443', false],
  ],
  'a default port that is not written': [
    ['https://localhost', 'localhost', true],
    ['https://localhost', 'localhost:443', true],
    ['https://localhost', 'localhost:8444', true, onDefaultPort],
    ['https://localhost:8444', 'localhost', true, onDefaultPort],
  ],
  IPv6: [
    ['https://[::1]:8443', '[::1]:8444', true],
    ['https://[::1]:8443', '[0:0:0:0:0:0:0:1]:8443', true],
    ['https://[::1]:8443', '[::2]:8443', false],
    ['https://[::1]:8443', '127.0.0.1:8443', false],
  ],
  'another host, however alike': [
    ['https://evil.example', 'localhost:8443', false],
    ['https://localhost.evil.example:8443', 'localhost:8443', false],
    ['https://localhost:8443.evil.example', 'localhost:8443', false],
    ['https://localhost:8443@evil.example', 'localhost:8443', false],
    ['https://127.0.0.1:8443', 'localhost:8443', false],
  ],
  'another scheme': [
    ['http://localhost:8443', 'localhost:8443', false],
    ['wss://localhost:8443', 'localhost:8443', false],
    ['chrome-extension://localhost', 'localhost', false],
  ],
  'what is no origin': [
    ['null', 'localhost:8443', false],
    ['null', 'null', false],
    ['', 'localhost:8443', false],
    ['localhost:8443', 'localhost:8443', false],
    ['file://', 'localhost:8443', false],
  ],
  'a page through a proxy has the host that it asks for, whatever the port behind it': [
    ['https://app.example.org', 'app.example.org', true],
    ['https://app.example.org:4000', 'app.example.org:4000', true],
    ['https://app.example.org:4000', 'app.example.org:4001', false],
  ],
  'an origin that the config names, to the letter': [
    ['https://wind.example.org', 'localhost:8443', true],
    ['https://wind.example.org', undefined, true],
    ['https://wind.example.org:444', 'localhost:8443', false],
    ['http://wind.example.org', 'localhost:8443', false],
    ['https://a.wind.example.org', 'localhost:8443', false],
  ],
  'no Origin at all comes from no foreign page': [
    [undefined, 'localhost:8443', true],
    [undefined, undefined, true],
  ],
  'a request without a usable host is nobody’s own': [
    ['https://localhost:8443', undefined, false],
    ['https://localhost:8443', '', false],
    ['https://localhost:8443', 'local host', false],
  ],
}

for (const [title, rows] of Object.entries(cases)) {
  test(title, () => {
    for (const [origin, host, isOwn, rules = usual] of rows) {
      assert.equal(isOwnOrigin(origin, host, rules), isOwn, `${origin} at ${host}`)
    }
  })
}

test('a foreign page is refused with the key that would let it in', () => {
  const { status, code, message } = refuseForeign('https://evil.example')
  assert.deepEqual([status, code], [403, 'foreign-origin'])
  assert.match(message, /https:\/\/evil\.example .* allowedOrigins/)
})
