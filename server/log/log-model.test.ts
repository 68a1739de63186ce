import { openSqliteModelled, testModel } from './log-model-contract.ts'
import { littleMemory } from './log-testing.ts'
import { createMemoryLog } from './memory-log.ts'

testModel('memory', (parts) => ({ log: createMemoryLog({ epoch: 'life1', ...parts }) }), 120)
testModel('sqlite', openSqliteModelled(), 25)
testModel('sqlite, little memory', openSqliteModelled({ memory: littleMemory }), 25)
testModel('sqlite, in groups', openSqliteModelled({ defer: setImmediate }), 25)
