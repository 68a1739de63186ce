// Traces: sentences about the life of a message or a stream, by section; all are off at first.

/** Named after modules: the first four trace a server, the others a window. */
export const traceSections = ['uplink', 'log', 'hub', 'stream', 'link', 'outbox', 'fallback'] as const

export type TraceSection = (typeof traceSections)[number]

type Tell = (sentence: string) => void

/**
 * Null while a section is off, so that `trace.hub?.(…)` composes no sentence. Sentences contain names,
 * ids, numbers and codes: no key, no ticket, and no content of messages.
 */
export const trace: Record<TraceSection, Tell | null> = {
  uplink: null,
  log: null,
  hub: null,
  stream: null,
  link: null,
  outbox: null,
  fallback: null,
}

/**
 * Turns on the sections of a list such as `hub,log`, or all by `*`. Returns one sentence if there are
 * none of that name, otherwise null; the others are on.
 */
export function turnOnTraces(
  list: string,
  tell: (section: TraceSection, sentence: string) => void,
): string | null {
  const asked = list.split(/[\s,]+/).filter(Boolean)
  for (const section of traceSections)
    if (asked.includes('*') || asked.includes(section)) trace[section] = (sentence) => tell(section, sentence)
  const known: readonly string[] = ['*', ...traceSections]
  const unknown = asked.filter((name) => !known.includes(name))
  if (unknown.length === 0) return null
  return `There is nothing named ${unknown.join(', ')} to trace; there are ${traceSections.join(', ')}, and * for all.`
}
