// UDP relay that can block, and that can change the address which the far end sees.

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'

export type UdpRelay = Awaited<ReturnType<typeof startUdpRelay>>

/** From `host` and `port` to a port of 127.0.0.1. */
export async function startUdpRelay(host: string, port: number, targetPort: number) {
  const near = createSocket('udp4')
  near.bind(port, host)
  await once(near, 'listening')
  /** By the near end's port. */
  const far = new Map<number, Socket>()
  let isBlocked = false

  function farOf({ port: nearPort, address }: RemoteInfo): Socket {
    const known = far.get(nearPort)
    if (known) return known
    const opened = createSocket('udp4')
    far.set(nearPort, opened)
    opened.on('message', (datagram) => {
      if (!isBlocked) near.send(datagram, nearPort, address)
    })
    // Ignores the error of a port on which nothing listens.
    opened.on('error', () => undefined)
    return opened
  }

  near.on('message', (datagram, from) => {
    if (!isBlocked) farOf(from).send(datagram, targetPort, '127.0.0.1')
  })

  function forget(): void {
    for (const socket of far.values()) socket.close()
    far.clear()
  }

  return {
    /** Drops all datagrams both ways. */
    block(isOn: boolean) {
      isBlocked = isOn
    },
    /** Sends from other ports, as after a router has forgotten its clients (RFC 9000, 9.3). */
    move: forget,
    close() {
      forget()
      near.close()
    },
  }
}
