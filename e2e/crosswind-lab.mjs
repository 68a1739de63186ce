#!/usr/bin/env node
// The command of the package @crosswind/lab. An older Node cannot even parse the lab.

const least = 26
const { node } = process.versions
if (Number.parseInt(node, 10) >= least) await import('./lab-command.ts')
else {
  console.error(`\n  Crosswind’s lab needs Node ${least} or later; this is Node ${node}.`)
  process.exitCode = 1
}
