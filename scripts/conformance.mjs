// `npm run conformance -- --server URL`: holds any server that claims to speak the protocol to what it promises.

import { ensureInstalled } from './steps/install.mjs'
import { launch } from './steps/launch.mjs'
import { main } from './steps/step.mjs'

const words = process.argv.slice(2).filter((word, index) => index > 0 || word !== '--')

await main(async () => {
  await ensureInstalled()
  return launch(['e2e/conformance/main.ts', ...words])
})
