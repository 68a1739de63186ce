// The machine that made-up runs were made on, for tests and for looking at a report.

import type { Environment } from './samples.ts'

/** `server`: where it ran, in words. */
export function madeEnvironment(server: string): Environment {
  return {
    machine: 'example',
    cpu: 'Example CPU 3.0 GHz',
    cores: 2,
    memoryBytes: 8_321_499_136,
    os: 'Linux 6.1',
    node: '26.10.0',
    browser: 'Chromium 156.0',
    commit: 'bbf1c15',
    server,
    loadBefore: 0.31,
    loadAfter: 1.24,
  }
}
