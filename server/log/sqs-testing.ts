// A program that appends, for tests of the log on SQS.

import { appendForever, given, toyTypes } from './log-testing.ts'
import { openSqliteLog } from './sqlite-log.ts'
import { SqsLog, type SqsSettings } from './sqs-log.ts'

/** Node arguments; the first number is added. */
export const sqsAppenderFor = (settings: SqsSettings, file: string) => [
  import.meta.filename,
  JSON.stringify(settings),
  file,
]

if (import.meta.main) {
  const [settings = '', file = '', first = '1'] = process.argv.slice(2)
  const machine = { typeOf: toyTypes(), now: Date.now, random: Math.random, onFailure: console.error }
  const limits = { ...given.limits, messages: 1_000_000, bytes: 1e9 }
  const own = openSqliteLog({ file, limits, durability: 'process', ...machine })
  const log = await SqsLog.open(JSON.parse(settings), { log: own, ...machine })
  await appendForever(log, Number(first))
}
