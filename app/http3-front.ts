// HTTP/3, by Caddy in front of the server: Node has none of its own.

import type { Timers } from '../protocol/time.ts'
import { addressOf, type Caddy, type FrontSettings, startCaddy } from '../scripts/caddy.ts'
import { occupy } from '../scripts/open-port.ts'
import { output } from './output.ts'

interface Http3Settings extends Omit<FrontSettings, 'ports'> {
  /** For HTTP/3 over UDP, and for HTTP/2 and HTTP/1.1 over TCP. */
  readonly port: number
}

const restartMs = 1000
const otherwise = 'Without --http3 the server has HTTP/2 and HTTP/1.1.'

/**
 * Starts Caddy, and starts it again when it ends. Rejects with one sentence if it is not installed
 * or cannot serve.
 */
export async function startHttp3Front(
  { port, ...others }: Http3Settings,
  timers: Pick<Timers, 'later' | 'now'>,
) {
  await mustBeFree(port, others.host)
  const settings = { ...others, ports: [{ port, protocols: ['h1', 'h2', 'h3'] as const }] }
  let isOver = false
  let caddy = await startCaddy(settings, { otherwise, timers })
  watch(caddy)

  function watch({ ended }: Caddy): void {
    void ended.then((how) => {
      if (isOver) return
      output.incident('front-failed', `Caddy ended with ${how}; it is started again`)
      timers.later(restart, restartMs)
    })
  }

  async function restart(): Promise<void> {
    if (isOver) return
    try {
      caddy = await startCaddy(settings, { otherwise, timers })
      if (isOver) await caddy.close()
      else watch(caddy)
    } catch (error) {
      output.incident('front-failed', 'Caddy could not be started again', error)
      timers.later(restart, restartMs)
    }
  }

  return {
    /** After the server. Resolves once Caddy has ended. */
    async close(): Promise<void> {
      isOver = true
      await caddy.close()
    },
  }
}

/** Otherwise another program would be taken for Caddy. */
async function mustBeFree(port: number, host: string): Promise<void> {
  try {
    await occupy({ port, host: addressOf(host) })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why =
      code === 'EADDRINUSE'
        ? `is in use on ${host}: stop the program that uses it`
        : `cannot be opened (${message})`
    throw new Error(`Port ${port} ${why}, or choose another with --http3-port.`)
  }
}
