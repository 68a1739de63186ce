// Mercure: EventSource, and a POST for each message. Starts the program in MERCURE, or uses the hub
// at an address with the token in MERCURE_JWT; that hub needs `cors_origins *`.

import { spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'

export function start({ address, port, certFile, keyFile }) {
  const url = new URL('/.well-known/mercure', address ?? `https://localhost:${port}`)
  // No browser speaks HTTP/2 without TLS.
  const known = { mode: url.protocol === 'https:' ? 'sse/2' : 'sse/1.1', address: url.href }
  if (address) return { ...known, page: { token: process.env.MERCURE_JWT } }
  const secret = randomBytes(32).toString('hex')
  const hub = spawn(process.env.MERCURE ?? 'mercure', ['run', '--config', '-', '--adapter', 'caddyfile'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  process.once('exit', () => hub.kill())
  const settings = `publisher_jwt ${secret}\n subscriber_jwt ${secret}\n cors_origins *\n transport local`
  const site = `https://localhost:${port} {\n tls ${certFile} ${keyFile}\n mercure {\n ${settings}\n }\n}`
  hub.stdin.end(`{\n admin off\n}\n${site}\n`)
  return { ...known, pid: hub.pid, page: { token: tokenOf(secret) } }
}

function tokenOf(secret) {
  const parts = [{ alg: 'HS256', typ: 'JWT' }, { mercure: { publish: ['*'], subscribe: ['*'] } }]
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

export async function open({ address, channel, token, receive }) {
  const url = `${address}?${new URLSearchParams({ authorization: token })}`
  const source = new EventSource(`${url}&topic=${channel}`)
  source.onmessage = ({ data }) => receive(data)
  await new Promise((resolve) => {
    source.onopen = resolve
  })
  const bodyOf = (message) => new URLSearchParams({ topic: channel, data: JSON.stringify(message) })
  return (message) => fetch(url, { method: 'POST', body: bodyOf(message) })
}
