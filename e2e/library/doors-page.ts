// The script of a page that has the client's doors for sharing and drafts.

import * as Y from 'yjs'
import { type ConnectOptions, connect, RefusedError } from '../../client/connect.ts'
import { keptDrafts } from '../../client/drafts.ts'
import { sharedConnection } from '../../client/share.ts'
import { CrosswindProvider } from '../../client/yjs.ts'

const query = new URLSearchParams(location.search)
const user = query.get('user') ?? ''

function optionsFor(): ConnectOptions {
  const worker = () => new SharedWorker('/worker.js', { type: 'module' })
  const onRefused = ({ data }: { readonly data: unknown }, { code }: RefusedError) =>
    refused.push([data, code])
  const mode = query.get('mode')
  return {
    token: () => user,
    ...(mode !== null && { modes: [mode] }),
    ...(query.has('share') && {
      share: sharedConnection({ user, ...(query.get('share') === 'worker' && { worker }) }),
    }),
    ...(query.has('drafts') && { drafts: keptDrafts({ user: query.get('kept') ?? user, onRefused }) }),
  }
}

const refused: unknown[] = []
const url = new URL('/realtime', location.href)
const crosswind = connect(url, optionsFor())
crosswind.on('error', ({ code }) => refused.push(['connection', code]))
const heard: unknown[] = []
const room = crosswind.channel<string>(query.get('room') ?? 'room.1', { from: 'start' })
room.on('message', ({ data, user }) => heard.push([data, user]))
if (query.has('also')) {
  const also = query.get('also') ?? ''
  crosswind.channel(also).on('error', (error) => refused.push([also, (error as RefusedError).code]))
}

const text = new Y.Doc().getText('text')
const { doc } = text
const provider =
  doc && query.has('doc') ? new CrosswindProvider(url, 'doc.1', doc, { connection: crosswind }) : null

// An editor: what is typed goes to the end of the document.
const editor = document.body.appendChild(document.createElement('textarea'))
editor.addEventListener('beforeinput', (event) => {
  event.preventDefault()
  text.insert(text.length, event.data ?? '')
})
text.observe(() => {
  editor.value = String(text)
})
editor.focus()

const publish = (text: string) => void room.publish(text).catch(() => undefined)
/** Resolves to the code of the refusal. */
const codeOf = (data: string) =>
  room.publish(data).then(
    () => 'stored',
    (error) => (error instanceof RefusedError ? error.code : String(error)),
  )
if (query.has('leaves')) {
  text.insert(0, query.get('leaves') ?? '')
  location.replace('about:blank')
}
// Before the drafts of closed windows were read.
if (query.has('say')) publish(query.get('say') ?? '')

/** Members that a test reads and calls. */
const door = {
  heard,
  refused,
  state: () => crosswind.state,
  publish,
  codeOf,
  /** The same for lists in lists. */
  codeOfNested: (levels: number) => codeOf(JSON.parse('['.repeat(levels) + ']'.repeat(levels))),
  retry: () => crosswind.retry(),
  close: () => crosswind.close(),
  isSynced: () => provider?.synced,
  /** Each letter is a message, and a change of the document. */
  type(letters: string) {
    for (const letter of letters) {
      publish(letter)
      text.insert(text.length, letter)
    }
  },
}

declare global {
  interface Window {
    door?: typeof door
  }
}

window.door = door
