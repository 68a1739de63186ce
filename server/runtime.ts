// The Node that the server needs. Node 20.12 and later can import the server, so that it says why it does
// not run: no module has a static import of what they lack, such as `node:sqlite`.

import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite'
import { runtimeName, type Versions } from '../protocol/runtimes.ts'

/** Throws unless this is a Node of `engines` in `package.json`; Bun and Deno lack parts of Node's servers. */
export function requireNode(versions: Versions = process.versions): void {
  const { node, bun, deno } = versions
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isNew = major >= 24 || (major === 22 && minor >= 19)
  if (isNew && !bun && !deno) return
  const needed = 'Node 24 or later, or Node 22 from 22.19 on'
  throw new Error(`@crosswind/server needs ${needed}. This is ${runtimeName(versions)}.`)
}

/** Opens a database of SQLite. */
export function openDatabase(file: string, options: DatabaseSyncOptions = {}): DatabaseSync {
  requireNode()
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  return new DatabaseSync(file, options)
}
