// Builds the web app, unless what is in web/dist was built from these very sources.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exclusively } from './lock.mjs'
import { inModules, projectNode, root } from './project.mjs'
import { filesBelow, hashOf, readStamp } from './sources.mjs'
import { run, step } from './step.mjs'

// The dot keeps the server from handing it out.
const stampFile = join(root, 'web', 'dist', '.built-from')

/** Makes sure that web/dist is the web app of this source; throws StepFailure when it does not build. */
export async function ensureBuilt() {
  if (isBuilt()) return
  await exclusively(async () => {
    if (!isBuilt()) await step('building the web app', build)
  })
}

export const isBuilt = () => readStamp(stampFile) === sourceHash()

function sourceHash() {
  const isTest = (file) => /\.test\.tsx?$/.test(file)
  return hashOf(
    ['web', 'server/wire', 'package-lock.json'].flatMap(filesBelow).filter((file) => !isTest(file)),
  )
}

async function build() {
  // Before the build: what is changed meanwhile is built the next time.
  const hash = sourceHash()
  const vite = inModules('vite', 'bin', 'vite.js')
  await run(projectNode, [vite, 'build', 'web'], {
    sentence: 'The web app does not build; what Vite says stands above.',
  })
  writeFileSync(stampFile, hash)
}
