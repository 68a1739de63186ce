import { openSqliteModelled, testModel } from './log-model-contract.ts'
import { littleMemory } from './log-testing.ts'
import { createMemoryLog } from './memory-log.ts'

testModel('memory', (parts) => ({ log: createMemoryLog({ epoch: 'life1', ...parts }) }), 7600)
testModel('sqlite', openSqliteModelled(), 800)
testModel('sqlite, little memory', openSqliteModelled({ memory: littleMemory }), 800)
testModel('sqlite, in groups', openSqliteModelled({ defer: setImmediate }), 800)
