// Gets a sensor into configuration mode, whichever mode it is in, or says why it does not go.

import { othersThan } from '../sources/port/sentences.ts'
import type { PortSettings } from '../sources/port/serial-line.ts'
import type { Conversation } from './conversation.ts'
import { SensorFailure } from './failure.ts'
import { settingsIn } from './settings.ts'
import { linesOf } from './shown.ts'

export interface Entering {
  readonly conversation: Conversation
  readonly port: PortSettings
  /** By which a polled sensor is spoken to, `A` to `Z`. */
  readonly node: string
  show(sent: string, lines: readonly string[]): void
}

const patienceMs = 2500
const quietMs = 300
const announcement = 'CONFIGURATION MODE'

/**
 * A sensor that sends by itself takes `*`, one that is polled `*` and its node letter (manual 1405-PS-0019, section 10.4).
 * One that was left in configuration mode takes neither, but answers D3. Rejects with SensorFailure when nothing helps.
 */
export async function enter({ conversation, port, node, show }: Entering): Promise<void> {
  for (const call of ['*', `*${node}`]) {
    conversation.say(call)
    const enough = (text: string) => text.includes(announcement)
    const text = await conversation.hear({ enough, quietMs, mostMs: patienceMs })
    show(call, enough(text) ? [announcement] : [])
    if (enough(text)) return
  }
  conversation.say('\rD3\r')
  const enough = (text: string) => settingsIn(linesOf(text)) !== null
  const text = await conversation.hear({ enough, quietMs, mostMs: patienceMs })
  show('D3 ⏎', enough(text) ? linesOf(text) : [])
  if (!enough(text)) throw new SensorFailure(refusal(conversation, port, node))
}

function refusal(conversation: Conversation, { path, baudRate, parity }: PortSettings, node: string): string {
  const verdict = conversation.judge()
  if (verdict === 'readings')
    return `The sensor on ${path} sends readings but takes no commands: check the wire that leads to it.`
  if (verdict === 'baud-rate')
    return `What comes from ${path} makes no sense at ${baudRate} baud, parity ${parity}: try --baud ${othersThan(baudRate)}.`
  return `No sensor answers on ${path} at ${baudRate} baud, parity ${parity}: check its power and cable, try another --baud, and say by --node what letter a polled one has (here ${node}).`
}
