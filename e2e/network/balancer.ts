// A TCP load balancer: each connection goes to the next server that accepts it.

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { reset } from './reset.ts'

export interface Address {
  readonly host: string
  readonly port: number
}

export async function startBalancer(listen: Address, servers: readonly Address[]) {
  const open = new Set<Socket>()
  let next = 0
  const balancer = createServer({ noDelay: true, pauseOnConnect: true, allowHalfOpen: true }, (near) => {
    open.add(near.on('error', () => undefined))
    near.once('close', () => open.delete(near))
    next += 1
    lead(near, next, servers.length)
  })

  /** If no server accepts it, the connection ends. */
  function lead(near: Socket, index: number, triesLeft: number): void {
    const server = servers[index % servers.length]
    if (!server || triesLeft === 0) return void reset(near)
    const far = connect({ ...server, noDelay: true, allowHalfOpen: true })
    const onRefused = () => lead(near, index + 1, triesLeft - 1)
    far.once('error', onRefused).once('connect', () => {
      far.off('error', onRefused).on('error', () => reset(near))
      far.once('close', () => near.destroy())
      near.once('close', () => far.destroy())
      if (near.destroyed) far.destroy()
      else near.pipe(far).pipe(near)
    })
  }

  balancer.listen(listen)
  await once(balancer, 'listening')
  return {
    async close(): Promise<void> {
      const closed = once(balancer, 'close')
      balancer.close()
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}
