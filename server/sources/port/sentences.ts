// Says in words how a sensor on a serial port is doing, and what to do about it.

import type { SensorBody } from '../../wire/reading.ts'
import type { Closing } from '../byte-source.ts'
import type { Polling } from './polling.ts'
import { type PortSettings, portPauses } from './serial-line.ts'
import type { Verdict } from './verdict.ts'

/** How a line is set, for the sentences to name it. */
export interface LineWords extends PortSettings {
  readonly polling: Polling | null
}

/** What was heard of late. */
export interface Hearing {
  readonly verdict: Verdict
  /** How long without a good frame. */
  readonly forMs: number
  /** Questions in a row that nobody answered. */
  readonly missed: number
}

/** Every rate that a WindSonic has (B1 to B5), those that it is delivered with first. */
const likelyRates = [9600, 38400, 19200, 4800, 2400]

/** The state of a line that sends no good frame, and the sentence with what is being done about it. */
export function trouble(line: LineWords, hearing: Hearing): Pick<SensorBody, 'state' | 'sentence'> {
  const { kind } = hearing.verdict
  const isSilent = kind === 'nothing' || kind === 'configuration' || kind === 'started'
  const doing = line.polling === null ? 'still listening' : 'still asking'
  return {
    state: isSilent ? 'silent' : 'garbled',
    sentence: `${complaint(line, hearing)}; ${doing}.`,
  }
}

/** What is wrong and what to look at, a sentence without its full stop. */
export function complaint(line: LineWords, hearing: Hearing): string {
  return complaints[hearing.verdict.kind](line, hearing)
}

const complaints: Readonly<Record<Verdict['kind'], (line: LineWords, hearing: Hearing) => string>> = {
  nothing: (line, hearing) => (line.polling === null ? silence(line, hearing) : noAnswer(line, hearing)),
  configuration: ({ path }) =>
    `The sensor on ${path} is in configuration mode and sends no readings: stop the server and say npm run sensor -- --configure D3, or switch the sensor off and on`,
  started: ({ path, polling }) =>
    polling === null
      ? `The sensor on ${path} has started but sends no readings: it is probably set to be polled (M3, M4); set M2, or sensor.mode to polled`
      : `The sensor on ${path} has started but does not answer to "${polling.node}" yet: it takes 5 s to be ready; after that check its node letter`,
  few: ({ path, baudRate, parity }, { forMs }) =>
    `Only a few bytes and no reading from ${path} for ${seconds(forMs)}: check the baud rate (now ${baudRate}), the parity (now ${parity}) and the cable`,
  'baud-rate': ({ path, baudRate, parity }) =>
    `What comes from ${path} makes no sense at ${baudRate} baud, parity ${parity}: the sensor is probably set otherwise; try ${othersThan(baudRate)} (sensor.baudRate), then another parity (sensor.parity)`,
  damaged: ({ path, parity }, { forMs }) =>
    `Pieces of readings come from ${path}, but no whole one for ${seconds(forMs)}: check the parity (now ${parity}), the cable and its ground`,
  format: ({ path }) =>
    `What comes from ${path} is whole, but in a format that is not read here: set the sensor's message format to M2`,
  text: ({ path }, { verdict }) =>
    `What comes from ${path} are no readings of a WindSonic (${excerptOf(verdict)}): check what is connected to this port`,
}

/** A sensor of another rate or parity may seem mute: some drivers drop every character that has no stop bit. */
function silence({ path, baudRate, parity }: LineWords, { forMs }: Hearing): string {
  return `The sensor on ${path} has sent nothing for ${seconds(forMs)}: check its power and cable, its baud rate and parity (here ${baudRate}, ${parity}), and that it is not set to be polled (M3, M4)`
}

function noAnswer({ path, baudRate, polling }: LineWords, { missed }: Hearing): string {
  const questions = missed === 1 ? 'a question' : `${missed} questions in a row`
  return `The sensor on ${path} has not answered ${questions}: check its power and cable, its baud rate (here ${baudRate}), that it is set to be polled (M3, M4), and its node letter (here ${polling?.node})`
}

/** The sentence for a port that closed or would not open. */
export function unplugged({ path }: LineWords, { reason, retryInMs }: Closing): string {
  const next = `trying again in ${seconds(retryInMs)}, then at least every ${seconds(portPauses.longestMs)}`
  return `No sensor at ${path} (${reason}): ${next}.`
}

/** `38400, 19200, 4800 or 2400` */
export function othersThan(baudRate: number): string {
  const others = likelyRates.filter((rate) => rate !== baudRate).map(String)
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(others)
}

function excerptOf(verdict: Verdict): string {
  return verdict.kind === 'text' ? JSON.stringify(verdict.excerpt) : ''
}

/** `2.5 s` */
export function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}
