// The tasks of the page's documents for tests, in the test's own thread.

import type { Documents } from '../../server/document/document-worker.ts'
import { type UpdateTasks, updateTasks } from '../../server/document/update-tasks.ts'
import { type PageTasks, tasks } from './document-tasks.ts'
import { pageSchema } from './page-schema.ts'

export type AllTasks = UpdateTasks & PageTasks

const all: AllTasks = { ...updateTasks(pageSchema), ...tasks }

function perform<Name extends keyof AllTasks>(name: Name, input: Parameters<AllTasks[Name]>) {
  // Each task is called with its own input types.
  const task = all[name] as unknown as (...given: typeof input) => ReturnType<AllTasks[Name]>
  return task(...input)
}

/** Runs document tasks synchronously, without limits. */
export const unlimitedDocuments: Documents<AllTasks> = {
  run: async (name, ...input) => perform(name, input),
  read: async (_channel, name, ...input) => perform(name, input),
  mustBeReadable: () => undefined,
  isQuarantined: () => false,
  for: () => unlimitedDocuments,
  within: () => unlimitedDocuments,
}
