// The lab's door: the protocol's types, modes and clocks, for programs that speak it without this client.

export {
  type ClockEstimate,
  type ClockReading,
  combine,
  createClockEstimate,
  type Exchange,
  roundTripMs,
} from '../protocol/clock-estimate.ts'
export {
  type Bodies,
  type DownFrame,
  type Draft,
  isKind,
  type Kind,
  type Message,
  type PollAnswer,
  type Polling,
  parseCursor,
  type Refused,
  type Stored,
} from '../protocol/messages.ts'
export {
  type ByHttp,
  connections,
  type HttpVersion,
  type Mode,
  modeFor,
  modeNamed,
  modes,
  shareNames,
  type TransportName,
  transportNames,
  type WindowHttp,
  type WindowMode,
  windowHttpVersions,
  windowModeNamed,
  windowModes,
} from '../protocol/modes.ts'
export { createSeededRandom, drawNormal, type Random, shuffled, type Timers } from '../protocol/time.ts'
