// `npm run sensor`: finds, shows, configures and simulates a WindSonic. Without flags it says how.

import { ensureInstalled } from './steps/install.mjs'
import { launch } from './steps/launch.mjs'
import { main } from './steps/step.mjs'

const words = process.argv.slice(2).filter((word, index) => index > 0 || word !== '--')

await main(async () => {
  await ensureInstalled()
  return launch(['server/sensor.ts', ...words])
})
