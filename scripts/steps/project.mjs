// Where things are in this project, and the environment that its tools run in. Runs on any Node from 18 on.

import { readFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const isWindows = process.platform === 'win32'

/** The project's folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')

const binFolder = join(root, 'node_modules', '.bin')

/** The Node that the project brings along as the package `node`. */
export const projectNode = isWindows ? inModules('node', 'bin', 'node.exe') : join(binFolder, 'node')

/** A tool that npm installed, such as `tsc`. */
export const tool = (name) => join(binFolder, isWindows ? `${name}.cmd` : name)

/** A path inside node_modules. */
export function inModules(...names) {
  return join(root, 'node_modules', ...names)
}

/** The environment for the project's own tools: its Node comes first. */
export function toolEnvironment(extra = {}) {
  return { ...outerEnvironment(), PATH: [binFolder, ...outerPath()].join(delimiter), ...extra }
}

/** The environment without the project's tools, for the npm that is about to replace them. */
export function outerEnvironment() {
  const others = Object.entries(process.env).filter(([name]) => name.toUpperCase() !== 'PATH')
  return { ...Object.fromEntries(others), PATH: outerPath().join(delimiter) }
}

/** The folders in PATH but for node_modules/.bin, which npm puts there for its scripts. */
export function outerPath() {
  const ours = (folder) => resolve(folder).endsWith(join('node_modules', '.bin'))
  return (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '' && !ours(folder))
}

export function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
