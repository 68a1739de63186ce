// Talks with a sensor over its port: says something, then waits for the answer.

import { openLine, type PortSettings } from '../sources/port/serial-line.ts'
import { createEar, type Ear } from './ear.ts'
import { SensorFailure } from './failure.ts'
import type { Surroundings } from './surroundings.ts'

export interface Conversation {
  /** What came before is forgotten. */
  say(text: string): void
  /** Rejects with SensorFailure when the port closes or somebody wants to end. */
  readonly hear: Ear['hear']
  readonly judge: Ear['judge']
  /** The newest since the last `say`. */
  readonly reading: Ear['reading']
  /** Whether the port can be written to. */
  readonly isOpen: boolean
  /** Resolves when `lastWords` have left and the port is closed. */
  close(lastWords?: string): Promise<void>
}

type Speaking = Pick<Surroundings, 'timers' | 'createPort' | 'signal'>

const openingTries = 10
const openingPauseMs = 100

/** Rejects with SensorFailure when the port cannot be opened. */
export async function openConversation(port: PortSettings, speaking: Speaking): Promise<Conversation> {
  const ear = createEar(speaking.timers)
  const opened = Promise.withResolvers<void>()
  let isOpen = false

  function fail(sentence: string): void {
    const failure = new SensorFailure(sentence)
    opened.reject(failure)
    ear.fail(failure)
  }

  const line = openLine({
    ...port,
    ...speaking,
    onOpen() {
      isOpen = true
      opened.resolve()
    },
    onBytes: ear.take,
    onClose(reason) {
      isOpen = false
      fail(`${port.path} cannot be used: ${reason}.`)
    },
  })
  const stopListening = onAbort(speaking.signal, () => fail('Stopped.'))

  function close(lastWords = ''): Promise<void> {
    stopListening()
    isOpen = false
    return line.close(lastWords)
  }

  await opened.promise.catch(async (error: unknown) => {
    await close()
    throw error
  })
  return {
    hear: ear.hear,
    judge: ear.judge,
    close,
    get reading() {
      return ear.reading
    },
    get isOpen() {
      return isOpen
    },
    say(words) {
      ear.forget()
      line.write(words)
    },
  }
}

/** Also when that has happened already. Returns what ends the listening. */
function onAbort(signal: AbortSignal, run: () => void): () => void {
  signal.addEventListener('abort', run, { once: true })
  if (signal.aborted) run()
  return () => signal.removeEventListener('abort', run)
}

/** The same for a port that was closed just now: some devices need a moment. */
export async function openAgain(port: PortSettings, speaking: Speaking): Promise<Conversation> {
  for (let left = openingTries; ; left--) {
    try {
      return await openConversation(port, speaking)
    } catch (error) {
      if (left === 1 || speaking.signal.aborted) throw error
      await new Promise<void>((resolve) => void speaking.timers.later(resolve, openingPauseMs))
    }
  }
}
