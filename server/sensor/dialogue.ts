// Configuration mode, step by step, each shown as it happens: what was sent, and what came back.

import type { PortSettings } from '../sources/port/serial-line.ts'
import { openAgain, openConversation } from './conversation.ts'
import { enter } from './enter.ts'
import { createExchanges } from './exchanges.ts'
import { SensorFailure } from './failure.ts'
import { hearReading } from './measuring.ts'
import { isQuestion, lineChange } from './settings.ts'
import { linesOf, lineWords, readAs } from './shown.ts'
import type { Surroundings } from './surroundings.ts'

export interface DialogueOpening {
  readonly port: PortSettings
  /** By which a polled sensor is spoken to, `A` to `Z`. */
  readonly node: string
}

export interface Dialogue {
  enter(): Promise<void>
  /** Resolves to the lines that came back. Rejects with SensorFailure when none did. */
  command(word: string): Promise<readonly string[]>
  /** Resolves to the first reading afterwards in words, or to null where none comes; `settings` as D3 listed them. */
  leave(settings: readonly string[]): Promise<string | null>
  /** How the sensor is spoken to by now. */
  readonly port: PortSettings
  /** Leaves configuration mode first, where that has not been done; says so where the port is not open for it. */
  close(): Promise<void>
}

/** The manual's ENTER. */
const Enter = '\r'
const answerMs = 3000
/** A self-test takes its time. */
const selfTestMs = 10_000
const quietMs = 300

/** Rejects with SensorFailure when the port cannot be opened. */
export async function openDialogue(opening: DialogueOpening, surroundings: Surroundings): Promise<Dialogue> {
  const { show, note } = createExchanges(surroundings.print)
  let { port } = opening
  let conversation = await openConversation(port, surroundings)
  let isConfiguring = false
  let unconfirmed: PortSettings | null = null

  async function reopen(other: PortSettings): Promise<void> {
    await conversation.close()
    conversation = await openAgain(other, surroundings)
    port = other
    note(`the port is open anew: ${lineWords(other)}`)
  }

  async function ask(word: string, mostMs = answerMs): Promise<string[]> {
    conversation.say(word + Enter)
    const fewest = isQuestion(word) ? 2 : 1
    const enough = (text: string) => linesOf(text).length >= fewest
    const lines = linesOf(await conversation.hear({ enough, quietMs, mostMs }))
    show(`${word} ⏎`, lines)
    return lines
  }

  async function command(word: string): Promise<readonly string[]> {
    const mostMs = word === 'D6' ? selfTestMs : answerMs
    const lines = await ask(word, mostMs)
    const change = lineChange(word)
    if (change !== null) await follow(word, { ...port, ...change })
    else if (lines.length === 0)
      throw new SensorFailure(`The sensor did not answer ${word} within ${mostMs / 1000} s.`)
    return lines
  }

  /**
   * A new rate holds at once and has to be confirmed at that rate by its bare letter (the same maker's WindObserver, manual
   * 1390-PS-0004, command B); a sensor that does not answer there is spoken to as before.
   */
  async function follow(word: string, other: PortSettings): Promise<void> {
    const before = port
    if (lineWords(other) === lineWords(before)) return
    await reopen(other)
    const lines = await ask(word.slice(0, 1))
    if (lines.some((line) => line.includes(word))) return
    unconfirmed = other
    await reopen(before)
    conversation.say(Enter)
    await conversation.hear({ enough: () => true, quietMs, mostMs: answerMs })
  }

  return {
    command,
    get port() {
      return port
    },
    async enter() {
      isConfiguring = true
      await enter({ conversation, ...opening, show })
    },
    async leave(settings) {
      isConfiguring = false
      conversation.say(`Q${Enter}`)
      show('Q ⏎', await hearReading(conversation, settings))
      if (conversation.reading === null && unconfirmed !== null) {
        await reopen(unconfirmed)
        show('', await hearReading(conversation, settings))
      }
      return conversation.reading && readAs(conversation.reading).trim()
    },
    close() {
      const lastWords = isConfiguring && conversation.isOpen ? `Q${Enter}` : ''
      if (lastWords !== '') show('Q ⏎', ['(so that it measures again)'])
      else if (isConfiguring) stillConfiguring(port).forEach(surroundings.print)
      return conversation.close(lastWords)
    },
  }
}

function stillConfiguring({ path }: PortSettings): string[] {
  return [
    '',
    `  The sensor on ${path} may still be in configuration mode, where it sends no readings: once the port`,
    '  can be used again say npm run sensor -- --configure D3, or switch the sensor off and on.',
    '',
  ]
}
