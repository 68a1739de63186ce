// The first frame of every stream, and of a poll's first answer.

import type { CatchUp } from '../broker/log.ts'
import { formatCursor } from '../wire/cursor.ts'
import type { Welcome } from '../wire/frames.ts'
import type { Visitor } from './window.ts'

type Found = Pick<CatchUp, 'head' | 'recovered'>

export function welcomeTo({ id, mode }: Visitor, { head, recovered }: Found, heartbeatMs: number): Welcome {
  const { http } = mode
  return { type: 'welcome', window: id, cursor: formatCursor(head), recovered, http, heartbeatMs }
}
