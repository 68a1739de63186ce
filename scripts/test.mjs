// `npm test`: types, lint and every test, those in real browsers too. `npm test -- WORD` takes only files with WORD.

import { main } from './steps/step.mjs'
import { runSuite } from './steps/suite.mjs'

await main(() => runSuite(process.argv.slice(2), { withBrowser: true }))
