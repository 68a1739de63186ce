// The script of a page in StrictMode whose components a test mounts, replaces and unmounts.

import { StrictMode, Suspense, use, useEffect, useState } from 'react'
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import { type Crosswind, connect } from '../../client/connect.ts'
import { useDocument } from '../../client/react/document.ts'
import {
  ConnectionProvider,
  useChannel,
  useConnection,
  usePresence,
  useVolatile,
} from '../../client/react/index.ts'
import { Shared } from '../../client/stores.ts'

interface Said {
  readonly text: string
}

function Chat({ name }: { readonly name: string }) {
  const { status, messages, pending, hasEarlier, loadEarlier, publish, drop, sendVolatile } =
    useChannel<Said>(name, { limit: 5 })
  const { states, set } = usePresence<string>(name)
  const [typing, setTyping] = useState('')
  useVolatile<Said>(name, ({ data }) => setTyping(data.text))
  door.loadEarlier = loadEarlier
  door.show = set
  door.publish = (text) => void publish({ text }).catch(() => undefined)
  door.sendVolatile = (text) => sendVolatile({ text })
  rendered?.push([...messages, ...pending].map(({ data }) => data.text).join(' '))
  return (
    <section id={name.replace('.', '-')} data-status={status} data-earlier={hasEarlier}>
      <p>{messages.map(({ data }) => data.text).join(' ')}</p>
      {pending.map(({ id, data, error }) => (
        <button type="button" key={id} onClick={() => drop(id)}>
          {error ? `${data.text}: ${error.code}` : data.text}
        </button>
      ))}
      <b>{[...states.values()].sort().join(' ')}</b>
      <s>{typing}</s>
    </section>
  )
}

/** Notes the newest message in an effect, which renders it once more for each snapshot. */
function Reader({ name }: { readonly name: string }) {
  const { messages } = useChannel<Said>(name, { limit: 500 })
  const [seen, setSeen] = useState(0)
  useEffect(() => setSeen(messages.at(-1)?.seq ?? 0), [messages])
  return (
    <section id={name.replace('.', '-')}>
      <p>{messages.map(({ data }) => data.text).join(' ')}</p>
      <b>{seen}</b>
    </section>
  )
}

function Page({ name }: { readonly name: string }) {
  const { doc, isSynced, saveState } = useDocument(name)
  door.write = (text) => doc?.getText('text').insert(0, text)
  return <i id={name.replace('.', '-')}>{`${isSynced} ${saveState} ${doc?.getText('text')}`}</i>
}

/** Suspends what is beside it until `door.resume`. */
function Waiting() {
  if (suspended) use(suspended.promise)
  return null
}

let suspended: PromiseWithResolvers<void> | null = null

function State() {
  const { status, error } = useConnection()
  return <u>{error ? (error as Error).message : status}</u>
}

let rendered: string[] | null = null

const made: Crosswind[] = []
const root = createRoot(document.body)

/** What a test calls. */
const door = {
  made: () => made.length,
  /** Of stores, and of the connection's channels. */
  prototypes: (): readonly object[] => [
    Shared.prototype,
    Object.getPrototypeOf(made[0]?.open('room.stays') ?? null),
  ],
  // Those of the components that were rendered last.
  loadEarlier: async (): Promise<void> => undefined,
  show: (_state: string | null): void => undefined,
  write: (_text: string): void => undefined,
  publish: (_text: string): void => undefined,
  sendVolatile: async (_text: string): Promise<void> => undefined,
  watch: () => {
    rendered = []
  },
  /** What each rendering of a channel has shown since `watch`. */
  rendered: () => rendered,
  /** Mounts a component for each channel, and unmounts all others; with another `key` all are mounted anew. */
  mount(names: readonly string[], key = '') {
    flushSync(() =>
      root.render(
        <StrictMode>
          <ConnectionProvider connect={open}>
            <Suspense fallback={<em>waiting</em>}>
              <Waiting />
              {names.map((name) => {
                const Component = name.startsWith('doc.') ? Page : name === 'room.read' ? Reader : Chat
                return <Component key={name + key} name={name} />
              })}
            </Suspense>
            <State />
          </ConnectionProvider>
        </StrictMode>,
      ),
    )
  },
  unmount: () => root.render(null),
  suspend: () => {
    suspended = Promise.withResolvers()
  },
  resume: () => suspended?.resolve(),
}

function open() {
  const opened = connect(new URL('/realtime', location.href), { modes: ['sse/1.1'] })
  made.push(opened)
  return opened
}

declare global {
  interface Window {
    hooks?: typeof door
  }
}

window.hooks = door
