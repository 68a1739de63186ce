// `npm start`: installs and builds what is missing, then runs the server. `npm start -- --help` lists its flags.

import { ensureBuilt } from './steps/build.mjs'
import { ensureInstalled } from './steps/install.mjs'
import { launch } from './steps/launch.mjs'
import { main } from './steps/step.mjs'

const flags = process.argv.slice(2).filter((word, index) => index > 0 || word !== '--')
const wantsHelp = flags.some((word) => word === '--help' || word === '-h')

await main(async () => {
  await ensureInstalled()
  if (wantsHelp) return launch(['server/config/print.ts'])
  await ensureBuilt()
  return launch(['server/main.ts', ...flags])
})
