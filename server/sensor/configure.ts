// `--configure`: puts a sensor into configuration mode, tells it what it is told, and sees it measure again.

import type { PortSettings } from '../sources/port/serial-line.ts'
import { inColumns } from './columns.ts'
import { type Dialogue, type DialogueOpening, openDialogue } from './dialogue.ts'
import { SensorFailure } from './failure.ts'
import { inWords, isPolled, isQuestion, nodeIn, settingsIn } from './settings.ts'
import { lineWords } from './shown.ts'
import type { Surroundings } from './surroundings.ts'

export interface Configuring extends DialogueOpening {
  /** Checked, in the order in which they are sent. */
  readonly commands: readonly string[]
}

/**
 * Prints what was sent and what came back, line by line, then what the sensor is set to. Rejects with SensorFailure when
 * the sensor does not answer, does not take a command or does not measure afterwards; it is told to leave configuration
 * mode even then.
 */
export async function configure(wanted: Configuring, surroundings: Surroundings): Promise<void> {
  const { print } = surroundings
  const say = (...lines: readonly string[]) => lines.forEach(print)
  say('', `  ${wanted.port.path} at ${lineWords(wanted.port)}`, '')
  const dialogue = await openDialogue(wanted, surroundings)
  try {
    await dialogue.enter()
    const settings = await tell(dialogue, wanted.commands)
    const reading = await dialogue.leave(settings)
    say('', '  The sensor is now set to', '', ...inColumns(settings.map(inWords)), '')
    check(wanted.commands, settings, reading)
    say(`  It measures again: ${reading}`, ...hints(wanted.port, dialogue.port, settings), '')
  } finally {
    await dialogue.close()
  }
}

/** Sends the commands, and D3 unless it was the last of them; resolves to its answer. */
async function tell({ command }: Dialogue, commands: readonly string[]): Promise<string[]> {
  const all = commands.at(-1) === 'D3' ? commands : [...commands, 'D3']
  let lines: readonly string[] = []
  for (const word of all) lines = await command(word)
  const settings = settingsIn(lines)
  if (settings === null)
    throw new SensorFailure('The sensor did not list its settings when it was asked (D3).')
  return settings
}

function check(commands: readonly string[], settings: readonly string[], reading: string | null): void {
  const last = new Map(commands.map((word) => [word.slice(0, 1), word]))
  const refused = [...last.values()].filter((word) => !isQuestion(word) && !settings.includes(word))
  if (refused.length > 0) throw new SensorFailure(`The sensor did not take ${refused.join(', ')}.`)
  if (reading !== null) return
  throw new SensorFailure(
    isPolled(settings)
      ? 'It is set, but did not answer when it was asked for a reading.'
      : 'It is set, but sends no readings.',
  )
}

/** What the server has to be told now that it was not before. */
function hints(before: PortSettings, after: PortSettings, settings: readonly string[]): string[] {
  const flags = [
    after.baudRate !== before.baudRate && `--sensor-baud-rate ${after.baudRate}`,
    after.parity !== before.parity && `--sensor-parity ${after.parity}`,
    isPolled(settings) && '--sensor-mode polled',
    isPolled(settings) && !settings.includes('NQ') && `--sensor-node ${nodeIn(settings)}`,
  ].filter((flag) => flag !== false)
  return flags.length === 0 ? [] : [`  From now on start the server with ${flags.join(' ')}`]
}
