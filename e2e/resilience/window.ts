// A window of the fleet: the real link over connections that can be cut, and a record of all that it told.

import type { DownFrame } from '../../server/wire/frames.ts'
import type { HttpVersion, Mode } from '../../server/wire/modes.ts'
import type { Random } from '../../server/wire/random.ts'
import type { LinkState } from '../../web/link/link-state.ts'
import { createConnections, type Moment } from './connections.ts'
import { openLink } from './link.ts'
import type { WindowRecord } from './record.ts'

export interface WindowOpening {
  readonly name: string
  readonly mode: Mode
  readonly channel: string
  readonly isWriter: boolean
  readonly mayFall: boolean
  readonly origin: Readonly<Record<HttpVersion, string>>
  readonly ca: string
  readonly random: Random
  /** Ms since the run began. */
  readonly elapsed: () => number
}

export interface FleetWindow {
  readonly record: WindowRecord
  readonly mode: Mode
  readonly isOpen: () => boolean
  /** Ms since it was opened; 0 while it is not open. */
  readonly openForMs: () => number
  readonly isStalled: () => boolean
  /** Messages that nobody acknowledged yet. */
  readonly unstored: () => number
  readonly publish: (html: string) => void
  /** False when there was nothing to cut. */
  readonly cut: () => boolean
  /** Cuts it, and once more while it comes back. */
  readonly cutInResume: (moment: Moment) => boolean
  readonly stall: () => void
  readonly readOn: () => void
  readonly close: () => void
}

export function openWindow(opening: WindowOpening): FleetWindow {
  const { name, mode, channel, isWriter, elapsed } = opening
  const record = emptyRecord({ name, mode: mode.name, channel, isWriter })
  const outages = record.outages
  outages.push({ fromMs: elapsed(), toMs: null })
  let isOpen = false
  let openedAt = 0
  let isStalled = false
  let unstored = 0
  let openings = 0

  function tellState({ state, mode: spoken, reason, repairs }: LinkState): void {
    record.repairs = repairs
    if (reason !== null) record.reasons.set(reason, (record.reasons.get(reason) ?? 0) + 1)
    if (state === 'open' && spoken !== mode.name) record.modeChanges += 1
    if ((state === 'open') === isOpen) return
    isOpen = state === 'open'
    openedAt = performance.now()
    const last = outages.at(-1)
    if (!isOpen) outages.push({ fromMs: elapsed(), toMs: null })
    else if (last) last.toMs = elapsed()
  }

  function tellFrame(frame: DownFrame): void {
    if (frame.type === 'message') record.frames += 1
    if (frame.type !== 'welcome') return
    openings += 1
    if (frame.recovered) record.recovered += 1
    else if (openings > 1) record.snapshots += 1
  }

  const connections = createConnections(opening.ca, { onFrame: tellFrame, onCut: countCut })

  function countCut(): void {
    record.cuts += 1
  }

  function cut(): boolean {
    const isCut = connections.cut() > 0
    if (isCut) countCut()
    return isCut
  }

  const link = openLink({
    ...opening,
    connections,
    window: name,
    onState: tellState,
    onMessage: ({ id, seq }) => void record.seen.push({ id, seq }),
    onNewLog() {
      record.newLogs += 1
    },
    onOutbox(outbox) {
      unstored = outbox.unstored
    },
    onStored: (id, seq) => void record.accepted.set(id, seq),
    onRefused: (id, sentence) => void record.refused.push(`${id}: ${sentence}`),
    onSuperseded: (id) => void record.refused.push(`${id}: left out for a newer one`),
  })

  return {
    record,
    mode,
    isOpen: () => isOpen,
    openForMs: () => (isOpen ? performance.now() - openedAt : 0),
    isStalled: () => isStalled,
    unstored: () => unstored,
    publish(html) {
      const draft = link.publish(channel, 'edit', { html })
      if (draft) record.published.push(draft.id)
      else record.refused.push('The outbox was full.')
    },
    cut,
    cutInResume(moment) {
      connections.cutNext(moment)
      return cut()
    },
    stall() {
      isStalled = true
      record.stalls += 1
      connections.pause()
    },
    readOn() {
      isStalled = false
      connections.resume()
    },
    close: link.close,
  }
}

function emptyRecord(known: Pick<WindowRecord, 'name' | 'mode' | 'channel' | 'isWriter'>): WindowRecord {
  return {
    ...known,
    published: [],
    accepted: new Map(),
    refused: [],
    seen: [],
    outages: [],
    frames: 0,
    recovered: 0,
    snapshots: 0,
    newLogs: 0,
    repairs: 0,
    modeChanges: 0,
    cuts: 0,
    stalls: 0,
    reasons: new Map(),
  }
}
