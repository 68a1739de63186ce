// Minimal mirrored editor: contenteditable, one adapter, no framework.

const editor = document.querySelector('#document')
const name = `b${Math.random().toString(36).slice(2, 12)}`
const sent = []
const received = []
/** Measured on request: measuring would cost time while a message is timed. */
const unmeasured = []
const link = { state: 'opening', why: null }
let count = 0

const now = () => performance.timeOrigin + performance.now()

function showHtml({ from, body }, { applied }) {
  if (from !== name) editor.innerHTML = body.html
  applied()
}

/** As JSON, or decoded by the system's client. `show`: the adapter's own. */
function receive(data, show = showHtml) {
  const receivedAt = now()
  const message = typeof data === 'string' ? JSON.parse(data) : data
  if (show === showHtml && typeof message?.body?.html !== 'string')
    throw noted(
      new TypeError(
        `receive() was called with ${JSON.stringify(data)}: pass on what a window sent, or its JSON`,
      ),
    )
  const stamp = {
    id: message.id,
    kind: message.kind,
    seq: 0,
    acceptedAt: message.acceptedAt ?? null,
    receivedAt,
    appliedAt: null,
    paintedAt: null,
    bytes: 0,
    bodyBytes: 0,
  }
  received.push(stamp)
  unmeasured.push({ stamp, message })
  show(message, {
    applied() {
      stamp.appliedAt = now()
    },
    painted() {
      stamp.paintedAt = now()
    },
  })
}

function takeStamps() {
  for (const { stamp, message } of unmeasured.splice(0)) {
    stamp.bytes = JSON.stringify(message).length
    stamp.bodyBytes = JSON.stringify(message.body ?? '').length
  }
  return { sent, received }
}

/** For the lab's sentence about an adapter that fails. */
function note(error) {
  link.why ??= error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
const noted = (error) => {
  note(error)
  return error
}
addEventListener('error', ({ error, message }) => note(error ?? message))
addEventListener('unhandledrejection', ({ reason }) => note(reason))

// The interface that the lab expects of a measured page.
window.crosswind = { take: takeStamps, view: () => ({ link }) }

async function openAdapter() {
  const query = new URLSearchParams(location.search)
  const { default: peer } = await import('/peer.json', { with: { type: 'json' } })
  const { open } = await import('/adapter.js')
  const send = await open({
    ...peer,
    address: peer.address ?? location.origin,
    mode: `${query.get('transport')}/${query.get('http')}`,
    // Many systems have a meaning for a dot, or forbid it.
    channel: query.get('channel')?.replaceAll('.', '-'),
    receive,
  })
  if (typeof send !== 'function') throw new TypeError('open() resolved to no function that sends')
  return send
}

let send
try {
  send = await openAdapter()
  link.state = 'open'
} catch (error) {
  note(error)
  link.state = 'failed'
}

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
  const inputAt = performance.timeOrigin + event.timeStamp
  const stamp = { id: message.id, sentAt: at, inputAt, bytes: 0, bodyBytes: 0 }
  sent.push(stamp)
  unmeasured.push({ stamp, message })
  send(message)
  stamp.id = message.id
  stamp.sentAt = message.at
})
