// Entry of the SharedWorker: the sharing place of all windows of this browser that came from this server.

import { newName } from '../link/identity.ts'
import { transports } from '../transports/index.ts'
import { createHost, openPlace } from './host.ts'
import { holdForLife } from './locks.ts'
import type { FromWindow, Here, ToWindow } from './port.ts'

const lock = newName('crosswind-place-')
const held = holdForLife(navigator.locks, lock)
const place = openPlace(transports)

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports
  if (port) held.then(() => welcome(port))
})

function welcome(port: MessagePort): void {
  const host = createHost({
    place,
    locks: navigator.locks,
    portTo: () => ({ post: (said: ToWindow) => port.postMessage(said), close: () => port.close() }),
  })
  port.onmessage = ({ data }: MessageEvent<FromWindow>) => host.hear(data)
  const here: Here = { type: 'here', lock }
  port.postMessage(here)
}
