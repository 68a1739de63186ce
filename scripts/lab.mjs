// `npm run lab -- …`: measures the transports in real browsers. `npm run lab -- --help` lists what it can do.

import { ensureBrowser } from './steps/browser.mjs'
import { ensureBuilt } from './steps/build.mjs'
import { ensureInstalled } from './steps/install.mjs'
import { launch } from './steps/launch.mjs'
import { main } from './steps/step.mjs'

const words = process.argv.slice(2).filter((word, index) => index > 0 || word !== '--')
const wantsHelp = words.some((word) => word === '--help' || word === '-h')

await main(async () => {
  await ensureInstalled()
  if (wantsHelp) return launch(['e2e/main.ts', ...words])
  const browser = await ensureBrowser()
  await ensureBuilt()
  return launch(['e2e/main.ts', ...words], { env: browser })
})
