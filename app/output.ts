// The output of the page's server: the library's, with lines of its own.

import { output as libraryOutput } from '../server/program.ts'

/** docs/operating.md explains each. */
export const pageLevels = {
  started: 'info',
  stopping: 'info',
  stopped: 'info',
  'certificate-made': 'info',
  'browser-not-opened': 'info',
  'front-failed': 'error',
  'sensor-trouble': 'warn',
  'sensor-recovered': 'info',
  'sensor-note': 'info',
  'reading-not-stored': 'error',
} as const

export const output = libraryOutput.with(pageLevels)
