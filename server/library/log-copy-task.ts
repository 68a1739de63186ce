// The thread that copies the log's file.

import { parentPort, workerData } from 'node:worker_threads'
import { copyLogFile } from '../log/sqlite-file.ts'

export interface CopyTask {
  readonly file: string
  readonly copy: string
}

const { file, copy }: CopyTask = workerData
parentPort?.postMessage(copyLogFile(file, copy))
