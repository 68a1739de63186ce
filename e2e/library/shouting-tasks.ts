// The thread of an application's documents: none has a root "secret", and they can be shouted.

import * as Y from 'yjs'
import { anySchema, BadUpdate, performTasks, type Schema } from '../../server/documents.ts'

export const openSchema: Schema = {
  ...anySchema,
  regionOf(item) {
    const root: unknown = item.parent
    if (root === 'secret') throw new BadUpdate('it writes to "secret", which no document has')
    return anySchema.regionOf(item)
  },
}

const tasks = {
  shout(updates: readonly string[]): string {
    const doc = new Y.Doc()
    for (const update of updates) Y.applyUpdate(doc, Buffer.from(update, 'base64'))
    return String(doc.getText('text')).toUpperCase()
  },
  leave(): void {
    process.exit()
  },
  waste(): void {
    for (;;);
  },
}

export type ShoutingTasks = typeof tasks

performTasks(openSchema, tasks)
