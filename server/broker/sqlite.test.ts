import { readBootId } from './boot.ts'
import { testLogContract } from './log-contract.ts'
import { ampleLimits } from './log-testing.ts'
import { testPersistence } from './persistence-contract.ts'
import { openSqliteLog } from './sqlite.ts'
import { appenderFor, given, littleMemory, newFile } from './sqlite-testing.ts'

testLogContract('sqlite', (parts, context) => openSqliteLog({ ...given, ...parts, file: newFile(context) }))
testLogContract('sqlite, little memory', (parts, context) =>
  openSqliteLog({ ...given, ...parts, file: newFile(context), memory: littleMemory }),
)
testLogContract('sqlite, machine', (parts, context) =>
  openSqliteLog({ ...given, ...parts, file: newFile(context), durability: 'machine' }),
)
testPersistence('sqlite', (context) => {
  const file = newFile(context)
  const limits = { ...ampleLimits, logMessages: 1_000_000, logBytes: 1e9 }
  // The appending process has the machine's own.
  const bootId = readBootId(Date.now)
  return { open: () => openSqliteLog({ ...given, limits, file, bootId }), appender: appenderFor(file) }
})
