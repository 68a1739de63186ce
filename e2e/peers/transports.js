// The page's connection to each peer: passes messages to `take`, resolves to a send function.

const query = new URLSearchParams(location.search)
const channel = query.get('channel')

export const transports = {
  bare: (_, take) => (query.get('transport') === 'websocket' ? overWebSocket(take) : overEventSource(take)),

  /** Starts with polling, and is open once upgraded. */
  async 'socket.io'(_, take) {
    const { io } = await import('/client.js')
    const socket = io()
    socket.on('message', take)
    await new Promise((resolve) => {
      const check = () => {
        if (socket.connected && socket.io.engine.transport.name === 'websocket') resolve()
      }
      socket.on('connect', check)
      socket.io.on('open', () => socket.io.engine.on('upgrade', check))
    })
    return (message) => socket.emit('message', message)
  },

  /** Starts with polling, and is open once upgraded. */
  async 'engine.io'(_, take) {
    const { Socket } = await import('/client.js')
    const socket = new Socket()
    socket.on('message', take)
    await new Promise((resolve) => socket.on('upgrade', resolve))
    return (message) => socket.send(JSON.stringify(message))
  },

  async socketcluster(_, take) {
    const { create } = await import('/client.js')
    const socket = create()
    const subscribed = socket.subscribe(channel)
    takeAll(subscribed, take)
    await subscribed.listener('subscribe').once()
    return (message) => socket.transmitPublish(channel, message)
  },

  async centrifugo({ address }, take) {
    const { Centrifuge } = await import('/client.js')
    const client = new Centrifuge(overSocket(address))
    const subscription = client.newSubscription(`crosswind:${channel}`)
    subscription.on('publication', ({ data }) => take(data))
    const open = new Promise((resolve) => subscription.on('subscribed', resolve))
    subscription.subscribe()
    client.connect()
    await open
    return (message) => subscription.publish(message)
  },

  async mercure({ address, token }, take) {
    const url = new URL(address)
    if (token) url.searchParams.set('authorization', token)
    const publishing = String(url)
    url.searchParams.set('topic', channel)
    await overEventSource(take, String(url))
    return (message) => {
      const request = new XMLHttpRequest()
      request.open('POST', publishing)
      request.send(new URLSearchParams({ topic: channel, data: JSON.stringify(message) }))
    }
  },

  /** Stateless messages, since a document change would not be returned to its writer. */
  async hocuspocus({ address }, take) {
    const { HocuspocusProvider } = await import('/client.js')
    return new Promise((resolve) => {
      const provider = new HocuspocusProvider({
        url: overSocket(address),
        name: channel,
        onStateless: ({ payload }) => take(payload),
        onSynced: () => resolve((message) => provider.sendStateless(JSON.stringify(message))),
      })
    })
  },
}

async function overWebSocket(take) {
  const socket = new WebSocket(`wss://${location.host}/socket`)
  socket.onmessage = ({ data }) => take(data)
  await new Promise((resolve) => {
    socket.onopen = resolve
  })
  return (message) => socket.send(JSON.stringify(message))
}

async function overEventSource(take, address = '/stream') {
  const source = new EventSource(address)
  source.onmessage = ({ data }) => take(data)
  // Chromium's back/forward cache would keep the stream, one of six connections per host over
  // HTTP/1.1.
  addEventListener('pagehide', () => source.close())
  await new Promise((resolve) => {
    source.onopen = resolve
  })
  return (message) => {
    const request = new XMLHttpRequest()
    request.open('POST', '/messages')
    request.setRequestHeader('Content-Type', 'application/json')
    request.send(JSON.stringify(message))
  }
}

async function takeAll(messages, take) {
  for await (const message of messages) take(message)
}

const overSocket = (address) => address.replace(/^http/, 'ws')
