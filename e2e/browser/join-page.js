// A joined device: asks the lab for instructions, shows the measured page, answers with its stamps.

const part = (id) => document.getElementById(id)
const words = part('words')
const detail = part('detail')
/** The measured pages: usually one. */
const frames = [part('measured')]
const pauseMs = 1000
const unreachableMs = 30_000
const idKey = 'crosswind-lab-device'

let device = null
let hides = 0
let status = { phase: 'waiting', words: '' }
/** Time since which the lab has not answered. */
let silentSince = null
let wasHidden = false

const isHidden = () => document.visibilityState !== 'visible'

function show() {
  const phase = silentSince === null ? status.phase : 'silent'
  document.body.dataset.phase = phase
  const waiting = `${status.words}. The lab begins when all have joined. Keep this page open and in front.`
  const [headline, rest] = {
    waiting: ['Waiting for the lab to begin', waiting],
    measuring: [status.words, wasHidden ? 'It was hidden: its times in this turn do not count.' : ''],
    done: [status.words, 'This page can be closed.'],
    ended: [status.words, 'It stopped before the measurement was complete. This page can be closed.'],
    silent: ['The lab does not answer', 'It may have ended. This page keeps asking for half a minute.'],
  }[phase]
  say(headline, rest)
}

function say(headline, rest) {
  // Screen readers announce a change.
  if (words.textContent !== headline) words.textContent = headline
  if (detail.textContent !== rest) detail.textContent = rest
}

/** `fetch` that returns null if it cannot connect. Throws the sentence of a refusal. */
async function ask(path, body) {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const answer = await fetch(`/lab/${path}`, body === undefined ? undefined : post).catch(() => null)
  if (answer === null || answer.ok) return answer
  throw new Error((await answer.json().catch(() => null))?.message ?? `The lab answered ${answer.status}.`)
}

const loaded = (element) =>
  new Promise((resolve, reject) => {
    element.addEventListener('load', resolve, { once: true })
    element.addEventListener('error', () => reject(new Error('A script did not load.')), { once: true })
  })

function frameAt(place) {
  while (frames.length <= place) {
    const frame = frames[0].cloneNode()
    frame.removeAttribute('id')
    frame.removeAttribute('src')
    frames.at(-1).after(frame)
    frames.push(frame)
  }
  return frames[place]
}

/** The measured page has this origin, so that its recorder is accessible here. */
async function open(frame, path) {
  if (frame === frames[0]) wasHidden = isHidden()
  show()
  const isLoaded = loaded(frame)
  frame.src = path
  await isLoaded
  if (path === 'about:blank') return
  const script = frame.contentDocument.createElement('script')
  script.src = '/lab/receiver.js'
  const isReady = loaded(script)
  frame.contentDocument.head.append(script)
  await isReady
}

async function follow(order) {
  const given = { number: order.number }
  const frame = frameAt(order.frame)
  try {
    given.result = await (order.what === 'open'
      ? open(frame, order.path)
      : frame.contentWindow.receiver[order.name](...order.args))
  } catch (error) {
    given.error = String(error).slice(0, 1000)
  }
  await ask(`answers?device=${device}`, { ...given, hides, isHidden: isHidden() })
}

async function join() {
  const answer = await ask('devices', { device: sessionStorage.getItem(idKey) ?? undefined })
  if (answer === null) throw new Error('The lab does not answer. Load this page again to retry.')
  const joined = await answer.json()
  device = joined.device
  sessionStorage.setItem(idKey, device)
  part('device').textContent = `, ${joined.name}`
}

async function serve() {
  await join()
  let seen = 0
  let followed = 0
  while (status.phase !== 'done' && status.phase !== 'ended') {
    const query = new URLSearchParams({ device, seen, hides, isHidden: isHidden() })
    const answer = await ask(`instructions?${query}`)
    const next = await answer?.json().catch(() => null)
    if (!next) {
      silentSince ??= performance.now()
      show()
      if (performance.now() - silentSince > unreachableMs)
        throw new Error('The lab no longer answers. Load this page again to retry.')
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      continue
    }
    silentSince = null
    seen = next.seen
    status = next.status
    show()
    if (next.order && next.order.number !== followed) {
      followed = next.order.number
      await follow(next.order)
    }
  }
  for (const frame of frames) frame.src = 'about:blank'
}

/**
 * Screen Wake Lock (W3C); some browsers grant it only after a touch, and all revoke it when the
 * page is hidden.
 */
async function keepAwake() {
  const lock = await navigator.wakeLock?.request('screen').catch(() => null)
  part('awake').hidden = Boolean(lock)
}

document.addEventListener('visibilitychange', () => {
  if (isHidden()) {
    hides += 1
    wasHidden = true
    show()
  } else void keepAwake()
})
document.addEventListener('pointerdown', keepAwake)
addEventListener('pagehide', () => {
  if (device !== null) navigator.sendBeacon(`/lab/left?device=${device}`)
})
// After a restore from the back-forward cache: the lab was told that this device left.
addEventListener('pageshow', (event) => event.persisted && location.reload())

void keepAwake()
serve().catch((error) => {
  document.body.dataset.phase = 'silent'
  part('awake').hidden = true
  say('This device does not take part', error.message)
})
