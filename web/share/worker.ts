// The way to the sharing place in a SharedWorker.

import type { Line, LineEvents } from './line.ts'
import { type Locks, onceFree } from './locks.ts'
import type { FromWindow, Here, ToWindow } from './port.ts'

/** A worker that has not said a word by then will not. */
const patienceMs = 5000

/** `window` is the name of a lock that this window holds. Rejects when the worker does not start. */
export async function reachWorker(window: string, locks: Locks, events: LineEvents): Promise<Line> {
  // Vite reads this line as it stands, and makes a file of its own of what it names.
  const worker = new SharedWorker(new URL('./shared-worker.ts', import.meta.url), {
    type: 'module',
    name: 'crosswind',
  })
  const { port } = worker
  const { lock } = await firstWord(worker)
  port.onmessage = ({ data }: MessageEvent<ToWindow>) => events.onSaid(data)
  onceFree(locks, lock, new AbortController().signal, () => {
    port.close()
    events.onGone()
  })
  return {
    post(said) {
      const from: FromWindow = { window, said }
      port.postMessage(from)
    },
  }
}

function firstWord(worker: SharedWorker): Promise<Here> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error('The shared worker did not start.'))
    setTimeout(fail, patienceMs)
    worker.onerror = fail
    worker.port.onmessage = ({ data }: MessageEvent<Here>) => resolve(data)
  })
}
