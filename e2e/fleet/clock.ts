// Exchanges of this process's clock with a server's, over a connection that is there.

import type { Exchange } from '../../server/wire/clock/exchange.ts'
import type { HttpVersion } from '../../server/wire/modes.ts'
import { now } from '../../web/transports/transport.ts'
import { connectHttp, type HttpClient, textOf } from './http.ts'

/** Rejects when the connection ends, or when the server does not say its time. */
export async function exchangeClocks(http: HttpClient): Promise<Exchange> {
  const sentAt = now()
  const { status, body } = await http.ask({ path: '/api/clock' })
  const text = await textOf(body)
  const returnedAt = now()
  if (status !== 200) throw new Error(`/api/clock answered ${status}: ${text.slice(0, 200)}`)
  const { at } = JSON.parse(text)
  return { sentAt, receivedAt: at, answeredAt: at, returnedAt }
}

/** So many, one after the other, over a connection of their own straight to that origin. `ca` is the certificate to trust. */
export async function exchangeWithServer(
  origin: string,
  ca: string,
  times: number,
  cookie?: string,
): Promise<Exchange[]> {
  const http = connectHttp(alone, origin, ca, cookie)
  try {
    // Making the connection is part of the first one.
    await exchangeClocks(http)
    const exchanges: Exchange[] = []
    for (let count = 0; count < times; count += 1) exchanges.push(await exchangeClocks(http))
    return exchanges
  } finally {
    http.close()
  }
}

/** Both of the server's ports speak it. */
const alone: HttpVersion = '1.1'
