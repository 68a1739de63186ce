// A chat: messages, earlier ones, who types, and what is not sent yet.

import { connect } from '@crosswind/client'
import { sharedConnection } from '@crosswind/client/share'
import { ConnectionProvider, useChannel, useConnection, usePresence } from '@crosswind/react'

// One connection for all tabs: over HTTP/1.1, as here, a browser opens six to a host.
const share = sharedConnection({ user: 'all' }) // with users, the one who is signed in

export function App() {
  return (
    <ConnectionProvider connect={() => connect(new URL('/realtime', location), { share })}>
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
