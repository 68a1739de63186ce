// Centrifugo: JSON over WebSocket. Starts the program that CENTRIFUGO names, or uses the hub at an address.

import { spawn } from 'node:child_process'
import { Centrifuge } from 'centrifuge'

/** A hub at an address needs the same settings, and as origin https://localhost:*. */
const settings = {
  CENTRIFUGO_CLIENT_ALLOWED_ORIGINS: 'https://localhost:*',
  CENTRIFUGO_CLIENT_ALLOW_ANONYMOUS_CONNECT_WITHOUT_TOKEN: 'true',
  CENTRIFUGO_CHANNEL_WITHOUT_NAMESPACE_ALLOW_SUBSCRIBE_FOR_CLIENT: 'true',
  CENTRIFUGO_CHANNEL_WITHOUT_NAMESPACE_ALLOW_SUBSCRIBE_FOR_ANONYMOUS: 'true',
  CENTRIFUGO_CHANNEL_WITHOUT_NAMESPACE_ALLOW_PUBLISH_FOR_CLIENT: 'true',
  CENTRIFUGO_CHANNEL_WITHOUT_NAMESPACE_ALLOW_PUBLISH_FOR_ANONYMOUS: 'true',
}

export function start({ address, port, certFile, keyFile, versionOf }) {
  const known = { mode: 'websocket/1.1', version: `client ${versionOf('centrifuge')}` }
  if (address) return { ...known, address: new URL('/connection/websocket', address).href }
  const tls = { ENABLED: 'true', CERT_PEM: certFile, KEY_PEM: keyFile }
  const ofTls = Object.entries(tls).map(([name, value]) => [`CENTRIFUGO_HTTP_SERVER_TLS_${name}`, value])
  const env = { ...process.env, ...settings, ...Object.fromEntries(ofTls), CENTRIFUGO_HTTP_SERVER_PORT: port }
  const hub = spawn(process.env.CENTRIFUGO ?? 'centrifugo', [], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  process.once('exit', () => hub.kill())
  return { ...known, address: `https://localhost:${port}/connection/websocket`, pid: hub.pid }
}

export async function open({ address, channel, receive }) {
  const client = new Centrifuge(address.replace('http', 'ws'))
  const subscription = client.newSubscription(channel)
  subscription.on('publication', ({ data }) => receive(data))
  const subscribed = new Promise((resolve) => subscription.on('subscribed', resolve))
  subscription.subscribe()
  client.connect()
  await subscribed
  return (message) => subscription.publish(message)
}
