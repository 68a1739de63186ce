// Brings the planned faults about, each at its time, whatever the ones before it are still at.

import { carryOut, type FaultParts } from './faults.ts'
import type { PlannedFault } from './plan.ts'
import type { FaultRecord } from './record.ts'

/** Resolves when all faults are over, and not before `leastMs`; `onFault` is told of each when it is over. */
export async function bringAbout(
  faults: readonly PlannedFault[],
  leastMs: number,
  parts: FaultParts,
  onFault: (fault: FaultRecord) => void,
): Promise<FaultRecord[]> {
  const { pause, elapsed } = parts
  async function atItsTime(fault: PlannedFault): Promise<FaultRecord> {
    await pause(fault.atMs - elapsed())
    const record = await carryOut(fault, parts)
    onFault(record)
    return record
  }
  const [done] = await Promise.all([Promise.all(faults.map(atItsTime)), pause(leastMs - elapsed())])
  return done.sort((one, other) => one.atMs - other.atMs)
}
