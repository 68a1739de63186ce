// Lists the project's files and sums them up, so that what was made from them is made again only when they change.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './project.mjs'

const skipped = new Set(['node_modules', 'dist'])

/** The files below a path of the project, sorted, with forward slashes; the path itself when it is a file. */
export function filesBelow(path) {
  const full = join(root, path)
  if (!existsSync(full)) return []
  if (!statSync(full).isDirectory()) return [path]
  const names = readdirSync(full).filter((name) => !skipped.has(name) && !name.startsWith('.'))
  return names.sort().flatMap((name) => filesBelow(`${path}/${name}`))
}

/** A hash over the names and contents of files. */
export function hashOf(files) {
  const hash = createHash('sha256')
  for (const file of files) {
    const content = readFileSync(join(root, file))
    hash.update(`${file}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

/** A file's text without the blank around it; null when it is missing. */
export function readStamp(file) {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : null
}
