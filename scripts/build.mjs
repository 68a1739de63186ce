// `npm run build`: makes web/dist, the web app that the server hands out.

import { ensureBuilt } from './steps/build.mjs'
import { ensureInstalled } from './steps/install.mjs'
import { main } from './steps/step.mjs'

await main(async () => {
  await ensureInstalled()
  await ensureBuilt()
})
