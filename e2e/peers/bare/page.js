// The least that mirrors an editor: contenteditable, one transport, no framework. Crosswind is measured against it.

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
  // A page that Chromium keeps for "back" would keep its stream, and over HTTP/1.1 there are six to a host.
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
  // The same envelope as Crosswind's, so that the payload is the same.
  const message = {
    id: `${name}-${count}`,
    channel: 'main',
    kind: 'edit',
    from: name,
    at,
    body: { html: editor.innerHTML },
  }
  sent.push({ id: message.id, sentAt: at, inputAt: performance.timeOrigin + event.timeStamp })
  send(JSON.stringify(message))
})

// What the lab asks of every page it measures.
window.crosswind = { take: () => ({ sent, received }), view: () => ({ link: { state } }) }
