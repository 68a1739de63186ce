// A chat: messages, earlier ones, who types, and what is not sent yet.

import { connect } from '@crosswind/client'
import { ConnectionProvider, useChannel, useConnection, usePresence } from '@crosswind/react'

export function App() {
  return (
    <ConnectionProvider connect={() => connect(new URL('/realtime', location))}>
      <Chat room="room.1" />
      <State />
    </ConnectionProvider>
  )
}

function Chat({ room }) {
  const { messages, hasEarlier, loadEarlier, publish, error } = useChannel(room, { limit: 50 })
  const { states, set } = usePresence(room)
  const send = (form) => {
    publish({ text: form.get('text') }).catch(({ message }) => alert(message))
    set(null)
  }
  if (error) return <p>{error.message}</p>
  return (
    <>
      {hasEarlier && (
        <button type="button" onClick={loadEarlier}>
          Earlier messages
        </button>
      )}
      <ul>
        {messages.map(({ id, data }) => (
          <li key={id}>{data.text}</li>
        ))}
      </ul>
      <form action={send}>
        <input id="text" name="text" aria-label="Message" onInput={() => set('typing')} />
        <button type="submit">Send</button>
      </form>
      {states.size > 0 && <p>Somebody is typing</p>}
    </>
  )
}

function State() {
  const { status, pending, error } = useConnection()
  return <p>{error?.message ?? (pending > 0 ? `${pending} not sent` : status)}</p>
}
