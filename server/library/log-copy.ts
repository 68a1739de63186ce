// Copies the log's file in a thread, so that the server goes on meanwhile.

import { existsSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { fileName } from '../log/open-log.ts'
import type { CopyTask } from './log-copy-task.ts'

/** Beside this module, in the sources as in the package. */
const task = new URL(`./log-copy-task${extname(import.meta.filename)}`, import.meta.url)

/** Resolves to the number of the newest message in the copy. Rejects if there is a file already. */
export function copyLog(folder: string, copy: string): Promise<number> {
  const to = resolve(copy)
  if (existsSync(to)) return Promise.reject(new Error(`backup: ${to} exists; name a new file.`))
  const workerData: CopyTask = { file: join(folder, fileName), copy: to }
  return new Promise((resolve, reject) => {
    const thread = new Worker(task, { workerData })
    thread.once('message', resolve)
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('backup: the thread that copies has ended.')))
  })
}
