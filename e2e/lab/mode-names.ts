// Names and labels of measured systems: `sse/2`, `sse/2 mirror`, `sse/2 wan+1%`, `bare:sse/2`.

import {
  type Mode,
  modeNamed,
  modes,
  type WindowMode,
  windowModeNamed,
  windowModes,
} from '../../client/wire.ts'
import { isBare, peerLabel } from '../peers/peers.ts'
import { lowered } from '../report/section.ts'

/** `shared`: the page’s own. `mirror`: the whole content at each key, as in the 2021 paper. */
export const editorNames = ['shared', 'mirror'] as const
export type EditorName = (typeof editorNames)[number]

export const requireMode = (name: string): Mode => modeNamed(name) ?? refuseMode(name, modes)

export const requireModes = (names: readonly string[]): readonly Mode[] =>
  requireNames(names).map(requireMode)

/** Also those over HTTP/3, which need a front. */
export const requireWindowModes = (names: readonly string[]): readonly WindowMode[] =>
  requireNames(names).map((name) => windowModeNamed(name) ?? refuseMode(name, windowModes))

function requireNames(names: readonly string[]): readonly string[] {
  if (names.length === 0) throw new Error('--modes names no mode.')
  return names
}

function refuseMode(name: string, known: readonly WindowMode[]): never {
  throw new Error(`--modes names "${name}"; there are ${known.map((mode) => mode.name).join(', ')}.`)
}

/** A browser's connection limit makes any further window hang without an error. */
export function requireRoom(modes: readonly WindowMode[], windows: number, perBrowser: number): void {
  const crowded = modes.find((mode) => perBrowser > (mode.windowsPerBrowser ?? perBrowser))
  if (crowded)
    throw new Error(
      `--windows is ${windows}: ${crowded.name} supports ${crowded.windowsPerBrowser} windows per browser; leave that mode out, or use fewer windows.`,
    )
}

/** The papers compare with WebSocket. */
export const usualBaseline = (modes: readonly string[]): string | undefined =>
  modes.find((mode) => mode === 'websocket/1.1')

/** `bare:sse/2` imitates `sse/2`, `socket.io:websocket/1.1` uses its transport; Crosswind's own modes have no colon. */
export function imitatedBy(mode: string): string | undefined {
  return mode.split(':')[1]
}

/** `sse/2` of `sse/2 mirror`. */
export function withoutVariant(mode: string): string {
  return mode.split(' ')[0] ?? mode
}

/** `mirror` of `sse/2 mirror`, `wan+1%` of `sse/2 wan+1%`; undefined in a run with one of each. */
export function variantOf(mode: string): string | undefined {
  return mode.split(' ')[1]
}

export function isPeer(mode: string): boolean {
  return mode.includes(':')
}

/** `bare:sse/2` for `bare+5ms:sse/2`; any other name is unchanged. */
export function soundPeer(mode: string): string {
  return mode.replace(/\+[^:]*:/, ':')
}

/** A peer that imitates each mode, without a framework. */
export function isBarePeer(mode: string): boolean {
  return isPeer(mode) && isBare(peerOf(mode))
}

/** `bare` of `bare:sse/2`. */
export function peerOf(mode: string): string {
  return mode.split(':')[0] ?? mode
}

/** `SSE + XHR, HTTP/2`, with a variant `SSE + XHR, HTTP/2 (mirror)`; of peers `bare: SSE + XHR, HTTP/2` or `Socket.IO`. */
export function labelOf(mode: string): string {
  const [name = '', imitated] = mode.split(':')
  if (imitated !== undefined) return isBare(name) ? `${name}: ${labelOf(imitated)}` : peerLabel(name)
  const known = windowModeNamed(withoutVariant(mode))
  const variant = variantOf(mode)
  return known ? known.label + (variant === undefined ? '' : ` (${variant})`) : name
}

/** Label of a comparison's second mode: `bare` or `Socket.IO` for a peer, `mirror` for another variant of the same mode. */
export function opponentLabel(baseline: string, mode: string): string {
  if (isPeer(baseline)) return peerLabel(peerOf(baseline))
  const isSame = withoutVariant(mode) === withoutVariant(baseline)
  return (isSame && variantOf(baseline)) || labelOf(baseline)
}

/** `SSE + XHR, HTTP/2 / bare`. */
export const overLabel = (mode: string, baseline: string) =>
  `${labelOf(mode)} / ${opponentLabel(baseline, mode)}`

/** `SSE + XHR over HTTP/2`, `long polling over HTTP/2`, for running text. */
export function spokenName(mode: string): string {
  return labelOf(mode)
    .replace(', HTTP/', ' over HTTP/')
    .replace(/^(Long p|P)olling/, lowered)
}
