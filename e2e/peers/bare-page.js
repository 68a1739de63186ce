// Minimal mirrored editor: contenteditable, one transport, no framework.

import peer from '/peer.json' with { type: 'json' }
import { transports } from '/transports.js'

const editor = document.querySelector('#document')
const name = `b${Math.random().toString(36).slice(2, 12)}`
const sent = []
const received = []
/** Measured on request: measuring would cost time while a message is timed. */
const unmeasured = []
let state = 'opening'
let count = 0

const now = () => performance.timeOrigin + performance.now()

/** As JSON, or decoded by the peer's client. */
function take(data) {
  const receivedAt = now()
  const message = typeof data === 'string' ? JSON.parse(data) : data
  const stamp = {
    id: message.id,
    kind: message.kind,
    seq: 0,
    acceptedAt: message.acceptedAt ?? null,
    receivedAt,
    appliedAt: null,
    paintedAt: null,
    bytes: 0,
  }
  received.push(stamp)
  unmeasured.push({ stamp, message })
  if (message.from !== name) editor.innerHTML = message.body.html
  stamp.appliedAt = now()
}

function takeStamps() {
  for (const { stamp, message } of unmeasured.splice(0)) stamp.bytes = JSON.stringify(message).length
  return { sent, received }
}

// The interface that the lab expects of a measured page.
window.crosswind = { take: takeStamps, view: () => ({ link: { state } }) }

const send = await transports[peer.name](peer, take)
state = 'open'

editor.addEventListener('input', (event) => {
  count += 1
  const at = now()
  // Crosswind's envelope, so that payloads are equal.
  const message = {
    id: `${name}-${count}`,
    channel: 'main',
    kind: 'edit',
    from: name,
    at,
    body: { html: editor.innerHTML },
  }
  const stamp = { id: message.id, sentAt: at, inputAt: performance.timeOrigin + event.timeStamp, bytes: 0 }
  sent.push(stamp)
  unmeasured.push({ stamp, message })
  send(message)
})
