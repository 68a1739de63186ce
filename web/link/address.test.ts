import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modeNamed } from '../../server/wire/modes.ts'
import type { PageSettings } from '../../server/wire/settings.ts'
import { addressInMode, firstMode, originFor } from './address.ts'

const settings: PageSettings = {
  transport: 'sse',
  http: '2',
  ports: { '2': 8443, '1.1': 8444 },
  polling: { intervalMs: 1000, holdMs: 20_000 },
  share: 'none',
  limits: { maxMessageBytes: 65_536, outboxMessages: 1000, outboxBytes: 1_000_000 },
}

const origins: [page: string, http: '2' | '1.1', origin: string, ports?: PageSettings['ports']][] = [
  ['https://localhost:8443/', '2', 'https://localhost:8443'],
  ['https://localhost:8443/', '1.1', 'https://localhost:8444'],
  ['https://localhost:8444/?a=b', '2', 'https://localhost:8443'],
  ['https://[::1]:8443/', '1.1', 'https://[::1]:8444'],
  ['https://wind.example.org/', '1.1', 'https://wind.example.org:8444', { '2': 443, '1.1': 8444 }],
  ['https://wind.example.org/', '1.1', 'https://wind.example.org'],
  ['https://wind.example.org:4000/', '2', 'https://wind.example.org:4000'],
]

for (const [page, http, origin, ports = settings.ports] of origins) {
  test(`from ${page} HTTP/${http} with ports ${Object.values(ports)} is at ${origin}`, () => {
    assert.equal(originFor(http, { ...settings, ports }, new URL(page)), origin)
  })
}

const firsts: [search: string, name: string, change?: Partial<PageSettings>][] = [
  ['', 'sse/2'],
  ['', 'sse/1.1', { http: '1.1' }],
  ['', 'websocket/2', { transport: 'websocket' }],
  ['', 'websocket/1.1', { transport: 'websocket', http: '1.1' }],
  ['?http=1.1', 'sse/1.1'],
  ['?transport=websocket', 'websocket/2'],
  ['?transport=websocket&http=2', 'websocket/2'],
  ['?transport=streaming&http=1.1', 'streaming/2'],
  ['?transport=sse&http=2', 'sse/2', { transport: 'websocket', http: '1.1' }],
  ['?transport=pigeon', 'sse/2'],
  ['?transport=', 'sse/2'],
  ['?http=3', 'sse/2'],
]

for (const [search, name, change] of firsts) {
  test(`${search || 'no wish'} with ${JSON.stringify(change ?? 'the usual settings')} starts in ${name}`, () => {
    assert.equal(firstMode({ ...settings, ...change }, search).name, name)
  })
}

test('the address of a mode keeps all else that the page was asked for', () => {
  const mode = modeNamed('websocket/1.1') ?? assert.fail('there is no such mode')
  const address = addressInMode('https://localhost:8443/?channel=a&transport=sse&http=2&record#end', mode)
  assert.equal(address, 'https://localhost:8443/?channel=a&transport=websocket&http=1.1&record=#end')
})
