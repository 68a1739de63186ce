// Names of what is measured, and their labels: `sse/2`, `sse/2 mirror`, `bare:sse/2` of a peer.

import { type Mode, modeNamed, modes } from '../../server/wire/modes.ts'

export function requireMode(name: string): Mode {
  const mode = modeNamed(name)
  if (!mode)
    throw new Error(`--modes names "${name}"; there are ${modes.map((known) => known.name).join(', ')}.`)
  return mode
}

/** `bare:sse/2` imitates `sse/2`; Crosswind's own modes have no colon. */
export function imitatedBy(mode: string): string | undefined {
  return mode.split(':')[1]
}

/** `sse/2` of `sse/2 mirror`. */
export function withoutEditor(mode: string): string {
  return mode.split(' ')[0] ?? mode
}

/** `mirror` of `sse/2 mirror`; undefined in a run with one editor. */
export function editorOf(mode: string): string | undefined {
  return mode.split(' ')[1]
}

export function isPeer(mode: string): boolean {
  return mode.includes(':')
}

/** `SSE + XHR, HTTP/2`, with an editor `SSE + XHR, HTTP/2 (mirror)`, or a peer's `bare: SSE + XHR, HTTP/2`. */
export function labelOf(mode: string): string {
  const [name = '', imitated] = mode.split(':')
  if (imitated !== undefined) return `${name}: ${labelOf(imitated)}`
  const known = modeNamed(withoutEditor(mode))
  const editor = editorOf(mode)
  return known ? known.label + (editor === undefined ? '' : ` (${editor})`) : name
}

/** Label of a comparison's second mode: `bare` for a peer, `mirror` for the same mode with the other editor. */
export function opponentLabel(baseline: string, mode: string): string {
  if (isPeer(baseline)) return baseline.replace(/:.*/, '')
  const isSame = withoutEditor(mode) === withoutEditor(baseline)
  return (isSame && editorOf(baseline)) || labelOf(baseline)
}

/** `SSE + XHR over HTTP/2`, for running text. */
export function spokenName(mode: string): string {
  return labelOf(mode).replace(', HTTP/', ' over HTTP/')
}
