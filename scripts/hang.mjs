// Loaded into each test file's process (`--import`): ends it if it does not end by itself. Node's
// --test-timeout ends tests, not files: one forgotten socket would keep the whole run waiting.

import { isMainThread } from 'node:worker_threads'

const limitMs = Number(new URL(import.meta.url).searchParams.get('limit'))

// Workers and forked processes load this, too.
if (isMainThread && /\.test\.(ts|mjs)$/.test(process.argv[1]))
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ')
    process.stderr.write(`${process.argv[1]} did not end within ${limitMs / 1000} s. Still open: ${open}.\n`)
    process.exit(1)
  }, limitMs).unref()
