// The script of a SharedWorker: the coordinator of this browser's windows.

import { holdForLife, newName } from './browser-services.ts'
import { Coordinator, type FromWindow } from './share/coordinator.ts'
import { limitToSlots, transportsByName } from './transports/slots.ts'

/** The worker lives while it holds this lock; its first message names it. */
const lock = newName('crosswind-place-')
const held = holdForLife(navigator.locks, lock, new AbortController().signal)
const coordinator = new Coordinator(limitToSlots(transportsByName))

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports
  if (port) held.then(() => admit(port))
})

function admit(port: MessagePort): void {
  port.onmessage = ({ data }: MessageEvent<FromWindow>) => coordinator.hear(data, () => port)
  port.postMessage(lock)
}
