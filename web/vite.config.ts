// Bundles the page: `vite build web` makes web/dist, which the server serves.

import { hash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'
import { documentsPath } from '../app/shared/document-api.ts'
import { keptPagesPrefix, offlinePath, serviceWorkerPath } from '../app/shared/page-paths.ts'
import { type Part, views } from '../app/shared/views.ts'

/** The entry file of each part, which names its chunk. */
const partFiles: Readonly<Record<Part, string>> = {
  document: 'editor/Sheet.tsx',
  wind: 'wind/WindPanel.tsx',
  history: 'history/Versions.tsx',
  comparison: 'compare/Compare.tsx',
  monitor: 'monitor/Monitor.tsx',
}

/** Preloads the scripts and styles of every view; the server keeps those of the requested view. */
const preloadParts: Plugin = {
  name: 'crosswind-preload-parts',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler(_html, { bundle = {} }) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
      const scriptsOf = (part: Part) => {
        const chunk = chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith(partFiles[part]))
        if (!chunk) this.error(`${partFiles[part]} is not a separate chunk; App.tsx must import() it.`)
        return [chunk.fileName, ...chunk.imports, ...(chunk.viteMetadata?.importedCss ?? [])]
      }
      const entries = chunks.filter(({ isEntry }) => isEntry)
      // Vite preloads these for every view.
      const common = new Set(
        entries.flatMap(({ fileName, imports, viteMetadata }) => [
          fileName,
          ...imports,
          ...(viteMetadata?.importedCss ?? []),
        ]),
      )
      const scripts = new Set(views.flatMap(({ parts }) => parts.flatMap(scriptsOf))).difference(common)
      return Array.from(scripts, (script) => {
        const showing = views.filter(({ parts }) => parts.some((part) => scriptsOf(part).includes(script)))
        const how = script.endsWith('.css') ? { rel: 'preload', as: 'style' } : { rel: 'modulepreload' }
        const attrs = { ...how, crossorigin: true, href: `/${script}` }
        return {
          tag: 'link',
          attrs: { ...attrs, 'data-views': showing.map(({ name }) => name).join(',') },
          injectTo: 'head',
        }
      })
    },
  },
}

/** Compresses once at the highest level instead of per request. */
const compressedFiles: Plugin = {
  name: 'crosswind-compressed-files',
  apply: 'build',
  async writeBundle({ dir = '' }, bundle) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11 }
    for (const name of Object.keys(bundle)) {
      if (!/^assets\/.*\.(js|css|svg)$/.test(name)) continue
      const file = join(dir, name)
      const bytes = await readFile(file)
      await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes, { params }))
      await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: 9 }))
    }
  },
}

/** Not bundled: a worker of a module cannot be registered in every browser yet. */
const serviceWorker: Plugin = {
  name: 'crosswind-service-worker',
  apply: 'build',
  async writeBundle({ dir = '' }, bundle) {
    const files = Object.keys(bundle).filter((name) => /^assets\/.*\.(js|css|svg)$/.test(name))
    const paths = files.map((name) => `/${name}`).toSorted()
    const page = await readFile(join(dir, 'index.html'), 'utf8')
    const script = stripTypeScriptTypes(
      await readFile(join(import.meta.dirname, 'service-worker.ts'), 'utf8'),
    )
    const name = hash('sha256', [page, script, ...paths].join('\n'), 'base64url').slice(0, 12)
    const build = JSON.stringify({ name, offlinePath, documentsPath, files: paths, keptPagesPrefix })
    await writeFile(join(dir, serviceWorkerPath), `const build = ${build}\n${script}`)
  },
}

/**
 * Module ids common to all views: what the entry imports. One file for all of them compresses best.
 */
const commonModules = new Set<string>()

const commonFile: Plugin = {
  name: 'crosswind-common-file',
  apply: 'build',
  buildEnd() {
    const add = (id: string) => {
      if (commonModules.has(id)) return
      commonModules.add(id)
      this.getModuleInfo(id)?.importedIds.forEach(add)
    }
    for (const id of this.getModuleIds()) if (this.getModuleInfo(id)?.isEntry) add(id)
  },
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  publicDir: false,
  plugins: [commonFile, preloadParts, compressedFiles, serviceWorker],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    sourcemap: true,
    // The first versions with `Set.prototype.symmetricDifference` and `AbortSignal.any`, which the page calls.
    target: ['chrome122', 'edge122', 'firefox127', 'safari17.4'],
    // The Content-Security-Policy allows no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: { groups: [{ name: (id) => (commonModules.has(id) ? 'common' : null) }] },
      },
    },
  },
})
