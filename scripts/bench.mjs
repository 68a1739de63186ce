// `npm run bench -- …`: what a delivered message costs the server, without a browser. `npm run bench -- --help` lists what it can do.

import { ensureInstalled } from './steps/install.mjs'
import { launch } from './steps/launch.mjs'
import { main } from './steps/step.mjs'

const words = process.argv.slice(2).filter((word, index) => index > 0 || word !== '--')

await main(async () => {
  await ensureInstalled()
  return launch(['e2e/bench/main.ts', ...words])
})
