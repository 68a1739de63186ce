// `npm run invite`: makes a link that lets people in. `npm run invite -- --help` lists its flags.

import { ensureInstalled } from './steps/install.mjs'
import { launch } from './steps/launch.mjs'
import { main } from './steps/step.mjs'

const words = process.argv.slice(2).filter((word, index) => index > 0 || word !== '--')

await main(async () => {
  await ensureInstalled()
  return launch(['server/invite.ts', ...words])
})
