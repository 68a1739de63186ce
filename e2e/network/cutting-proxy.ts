// TCP relay that can cut, hold and refuse connections.

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { openPort } from '../../scripts/open-port.ts'
import { reset } from './reset.ts'

export type CuttingProxy = Awaited<ReturnType<typeof startProxy>>

/** By default on a free port of 127.0.0.1. */
export async function startProxy(firstPort: number, ...place: [host?: string, ownPort?: number]) {
  let targetPort = firstPort
  const pairs = new Set<readonly [Socket, Socket]>()
  const stranded = new WeakSet<Socket>()
  let held: 'nothing' | 'answers' | 'all' = 'nothing'
  let isRefusing = false
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (near) => {
    if (isRefusing) return reset(near)
    const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true })
    const pair = [near, far] as const
    pairs.add(pair)
    for (const socket of pair) socket.on('error', () => undefined)
    near.once('close', () => stranded.has(far) || far.destroy())
    far.once('close', () => {
      pairs.delete(pair)
      near.destroy()
    })
    relay(pair)
  })
  const port = await openPort(server, ...place)

  function relay([near, far]: readonly [Socket, Socket]): void {
    if (stranded.has(far)) return
    part([near, far])
    if (held !== 'all') near.pipe(far)
    if (held === 'nothing') far.pipe(near)
  }

  function cut(): void {
    for (const [near, far] of pairs) {
      reset(near)
      reset(far)
    }
  }

  return {
    port,
    /** New connections go to this port. */
    aim(newPort: number) {
      targetPort = newPort
    },
    cut,
    /** Cuts only the clients' side: for the server, the connections continue, silent. */
    strand() {
      for (const [near, far] of pairs) {
        stranded.add(far)
        part([near, far])
        reset(near)
        far.resume()
      }
    },
    /** Stops relaying both ways, like a network that drops all packets, or only what the server sends. */
    hold(what: 'answers' | 'all' = 'all') {
      held = what
      for (const pair of pairs) relay(pair)
    },
    release() {
      held = 'nothing'
      for (const pair of pairs) relay(pair)
    },
    refuse(isOn: boolean) {
      isRefusing = isOn
    },
    connections: () => pairs.size,
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}

function part([near, far]: readonly [Socket, Socket]): void {
  near.unpipe(far)
  far.unpipe(near)
}
