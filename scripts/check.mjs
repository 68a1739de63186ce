// `npm run check`: types, lint and the tests that need no browser.

import { main } from './steps/step.mjs'
import { runSuite } from './steps/suite.mjs'

await main(() => runSuite(process.argv.slice(2), { withBrowser: false }))
