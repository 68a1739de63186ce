// The library's door for modules of document threads: what documents may contain, and tasks of an application's own.

import type { Schema } from './document/update-reader.ts'
import { answerOrders, type Tasks, updateTasks } from './document/update-tasks.ts'

export { anySchema, BadUpdate, contentNumbers, type Schema, shorten } from './document/update-reader.ts'
export type { Tasks } from './document/update-tasks.ts'

/**
 * In a thread, performs what it is asked for documents of this schema: the library's tasks, and `own`, by
 * name. Elsewhere it does nothing, so that the types of the tasks can be imported.
 */
export function performTasks(schema: Schema, own: Tasks = {}): void {
  const tasks = updateTasks(schema)
  const taken = Object.keys(own).find((name) => name in tasks)
  if (taken) throw new Error(`performTasks: "${taken}" is a task of Crosswind; give yours another name.`)
  answerOrders({ ...tasks, ...own })
}
