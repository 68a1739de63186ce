// The paper's three methods and the modes that stand for them here, and what runs beside them.

import type { Method } from '../../network/predict.ts'

/** Over HTTP/1.1, as in 2012; the paper had no encryption, here all of it is TLS. */
export const modeOf: Readonly<Record<Method, string>> = {
  websocket: 'websocket/1.1',
  'long-polling': 'long-polling/1.1',
  polling: 'polling/1.1',
}

export const methods: readonly Method[] = ['websocket', 'long-polling', 'polling']

/** The modes that all others are set against. */
export const baseline = modeOf.websocket

/** What the paper could not have. */
export const modesBeside: readonly string[] = ['sse/2', 'streaming/2', 'websocket/2']

/** For a sentence. */
export const methodWords: Readonly<Record<Method, string>> = {
  websocket: 'WebSocket',
  'long-polling': 'long polling',
  polling: 'polling',
}

/** Undefined for a mode that the paper did not measure. */
export function methodOf(mode: string): Method | undefined {
  return methods.find((method) => modeOf[method] === mode)
}
