// What every log must do, whatever keeps it: one suite of tests for all of them, by topic.

import { type TestContext, test } from 'node:test'
import type { Message } from '../wire/envelope.ts'
import type { Clock } from '../wire/time.ts'
import type { Log, LogLimits, OnFailure } from './log.ts'
import { testClosing } from './log-closing-contract.ts'
import { testFollowers } from './log-followers-contract.ts'
import { testLimits } from './log-limits-contract.ts'
import { testOrder } from './log-order-contract.ts'
import { testPortions } from './log-portions-contract.ts'
import { testReading } from './log-reading-contract.ts'
import { ampleLimits, startMs, type TestLog } from './log-testing.ts'

export interface LogParts {
  readonly limits: LogLimits
  readonly now: Clock
  readonly onFailure: OnFailure
}

/** Opens a new, empty log. */
export type OpenLog = (parts: LogParts, context: TestContext) => Log | Promise<Log>

export function testLogContract(name: string, open: OpenLog): void {
  const testLog: TestLog = (says, run, limits = {}) => {
    test(`${name}: ${says}`, async (context) => {
      let time = startMs
      const failures: unknown[] = []
      const parts = { limits: { ...ampleLimits, ...limits }, now: () => time }
      // First, so that it is closed before `open` clears its place away.
      context.after(() => log?.close())
      const log = await open({ ...parts, onFailure: (error) => void failures.push(error) }, context)
      const seen: Message[] = []
      const cursors: string[] = []
      const advance = (byMs: number) => {
        time += byMs
      }
      log.follow((message, cursor) => {
        seen.push(message)
        cursors.push(cursor)
      })
      await run({ log, failures, seen, cursors, advance })
    })
  }

  for (const testTopic of [testOrder, testReading, testPortions, testFollowers, testLimits, testClosing]) {
    testTopic(testLog)
  }
}
