// `--listen`: shows what comes from a sensor, each line as it is beside what it was read as.

import { disable, type Poller, type Polling, startPolling } from '../sources/port/polling.ts'
import { complaint } from '../sources/port/sentences.ts'
import { openLine, type PortSettings } from '../sources/port/serial-line.ts'
import { collectEvidence, type Evidence } from '../sources/port/verdict.ts'
import { SensorFailure } from './failure.ts'
import { createReadout, type Readout } from './readout.ts'
import { lineWords } from './shown.ts'
import type { Surroundings } from './surroundings.ts'

export interface Listening {
  readonly port: PortSettings
  /** How a polled sensor is asked; null for one that sends by itself, to which nothing is written. */
  readonly polling: Polling | null
  readonly forSeconds: number
}

/**
 * Prints lines as they come, then how many were what. Ends after the time, or earlier by the signal. Rejects with
 * SensorFailure when the port closes or no reading came.
 */
export async function listen(listening: Listening, surroundings: Surroundings): Promise<void> {
  const { print, timers } = surroundings
  const startAt = timers.now()
  const evidence = collectEvidence()
  const readout = createReadout({ print, startAt, onRefused: evidence.refused })
  const { closedBecause, missed } = await hear(listening, surroundings, { evidence, readout })
  const readings = readout.end()
  if (closedBecause !== null)
    throw new SensorFailure(`${listening.port.path} cannot be used: ${closedBecause}.`)
  if (readings > 0) return
  const hearing = { verdict: evidence.judge(), missed, forMs: timers.now() - startAt }
  throw new SensorFailure(`${complaint({ ...listening.port, polling: listening.polling }, hearing)}.`)
}

function heading({ port, polling, forSeconds }: Listening): string[] {
  const doing =
    polling === null
      ? 'nothing is written to it'
      : `asked for ${polling.node}, ${polling.rateHz} times a second`
  return ['', `  ${port.path} at ${lineWords(port)}, for ${forSeconds} s; ${doing}`, '']
}

interface Hearers {
  readonly evidence: Evidence
  readonly readout: Readout
}

async function hear(listening: Listening, surroundings: Surroundings, { evidence, readout }: Hearers) {
  const { port, polling, forSeconds } = listening
  const { print, timers, signal } = surroundings
  const { promise: ended, resolve: end } = Promise.withResolvers<string | null>()
  const asking: { poller?: Poller; missed: number } = { missed: 0 }
  const onMissed = () => void asking.missed++
  const line = openLine({
    ...port,
    ...surroundings,
    onOpen() {
      heading(listening).forEach(print)
      if (polling) asking.poller = startPolling({ ...polling, timers, write: line.write, onMissed })
    },
    onBytes(bytes, at) {
      asking.poller?.heard(bytes)
      evidence.bytes(bytes)
      readout.push(bytes, at)
    },
    onClose: end,
  })
  const cancel = timers.later(() => end(null), forSeconds * 1000)
  signal.addEventListener('abort', () => end(null), { once: true })
  const closedBecause = await ended
  cancel()
  asking.poller?.stop()
  await line.close(polling === null ? '' : disable)
  return { closedBecause, missed: asking.missed }
}
