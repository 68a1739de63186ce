// Minimal mirrored editor: contenteditable, one transport, no framework.

const transport = new URLSearchParams(location.search).get('transport')
const editor = document.querySelector('#document')
const name = `b${Math.random().toString(36).slice(2, 12)}`
const sent = []
const received = []
let state = 'opening'
let count = 0
let send

const now = () => performance.timeOrigin + performance.now()

function take(text) {
  const receivedAt = now()
  const message = JSON.parse(text)
  const stamp = {
    id: message.id,
    kind: message.kind,
    seq: 0,
    acceptedAt: message.acceptedAt,
    receivedAt,
    appliedAt: null,
    paintedAt: null,
    bytes: text.length,
  }
  received.push(stamp)
  if (message.from !== name) editor.innerHTML = message.body.html
  stamp.appliedAt = now()
}

if (transport === 'websocket') {
  const socket = new WebSocket(`wss://${location.host}/socket`)
  socket.onopen = () => {
    state = 'open'
  }
  socket.onmessage = ({ data }) => take(data)
  send = (text) => socket.send(text)
} else {
  const source = new EventSource('/stream')
  source.onopen = () => {
    state = 'open'
  }
  source.onmessage = ({ data }) => take(data)
  // Chromium's back/forward cache would keep the stream, one of six connections per host over HTTP/1.1.
  addEventListener('pagehide', () => source.close())
  send = (text) => {
    const request = new XMLHttpRequest()
    request.open('POST', '/messages')
    request.setRequestHeader('Content-Type', 'application/json')
    request.send(text)
  }
}

editor.addEventListener('input', (event) => {
  count += 1
  const at = now()
  // Crosswind's envelope, for an equal payload.
  const message = {
    id: `${name}-${count}`,
    channel: 'main',
    kind: 'edit',
    from: name,
    at,
    body: { html: editor.innerHTML },
  }
  const text = JSON.stringify(message)
  const inputAt = performance.timeOrigin + event.timeStamp
  sent.push({ id: message.id, sentAt: at, inputAt, bytes: text.length })
  send(text)
})

// Interface that the lab expects of a measured page.
window.crosswind = { take: () => ({ sent, received }), view: () => ({ link: { state } }) }
