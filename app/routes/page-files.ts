// The files of the page: those of the build or, during development, those of Vite's server.

import { existsSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { basename, join } from 'node:path'
import type { Middleware } from 'koa'
import serve from 'koa-static'
import { Refusal } from '../../protocol/refusal.ts'
import { serviceWorkerPath } from '../shared/page-paths.ts'
import { type MoreSources, workerHeaders } from './page-headers.ts'

export interface PageFiles {
  /** The page without its settings. Rejects with a `Refusal`. */
  readonly page: () => Promise<{ readonly html: string; readonly sources?: MoreSources }>
  /** Answers requests for what the page loads. */
  readonly serve: Middleware
}

/**
 * `place`: the build's folder or, as a URL, Vite's server. Throws when the web app is not built.
 * `ports` are those of the page.
 */
export function pageFiles(place: string | URL, ports: () => readonly number[]): PageFiles {
  if (place instanceof URL) return developmentFiles(place, ports)
  const file = join(place, 'index.html')
  if (!existsSync(file))
    throw new Error(`The web app is not built: ${file} is missing; \`npm run build\` creates it.`)
  const html = readFileSync(file, 'utf8')
  const assets = serveAssets(place, ports)
  const worker = join(place, serviceWorkerPath)
  const script = existsSync(worker) ? readFileSync(worker) : null
  const serveWorker: Middleware = async (ctx, next) => {
    if (ctx.path !== serviceWorkerPath || script === null) return assets(ctx, next)
    // Its name does not change with its content.
    ctx.set({ ...workerHeaders(ctx.hostname, ports()), 'Cache-Control': 'no-cache' })
    ctx.type = 'js'
    ctx.body = script
  }
  return { page: async () => ({ html }), serve: serveWorker }
}

/** The fields of a request, and of a response, by which Vite and a browser agree on a file. */
const asked = ['accept', 'if-none-match', 'sec-fetch-dest']
const answered = ['content-type', 'cache-control', 'etag']

function developmentFiles(vite: URL, ports: () => readonly number[]): PageFiles {
  async function ask(path: string, headers: Record<string, string>): Promise<Response> {
    try {
      return await fetch(new URL(path, vite), { headers })
    } catch (error) {
      const sentence = `Vite does not answer at ${vite.origin}; stop \`npm run dev\` and start it again.`
      throw new Refusal('internal', sentence, null, null, error)
    }
  }

  return {
    async page() {
      const answer = await ask('/assets/index.html', { accept: 'text/html' })
      const html = await answer.text()
      // Vite marks all scripts and styles with it: the policy refuses any others, as after a build.
      const nonce = html.split(' nonce="')[1]?.split('"')[0]
      const inline = nonce === undefined ? [] : [`'nonce-${nonce}'`]
      return {
        html: html.replace(`id="settings" nonce="${nonce}"`, 'id="settings"'),
        sources: { inline, connect: [`ws://${vite.host}`] },
      }
    },
    async serve(ctx, next) {
      if (!ctx.path.startsWith('/assets/') || !['GET', 'HEAD'].includes(ctx.method)) return next()
      const fields = asked.map((name) => [name, ctx.get(name)]).filter(([, value]) => value !== '')
      const answer = await ask(ctx.path + ctx.search, Object.fromEntries(fields))
      ctx.status = answer.status
      // As in a build, for every worker.
      ctx.set(workerHeaders(ctx.hostname, ports()))
      for (const [name, value] of answer.headers) if (answered.includes(name)) ctx.set(name, value)
      ctx.body = Buffer.from(await answer.arrayBuffer())
    },
  }
}

/** Excludes the build's compressed variants. */
const assetPath = /^\/assets\/[\w-]+(?:\.[\w-]+)+$/
const isAsset = (path: string) => assetPath.test(path) && !path.endsWith('.br') && !path.endsWith('.gz')

/**
 * Only assets and wind history are compressed: compression delays streams, and the compressed length
 * leaks the text (BREACH).
 */
function serveAssets(folder: string, ports: () => readonly number[]): Middleware {
  const setHeaders = (response: ServerResponse, path: string) => {
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
    response.setHeader('Accept-Ranges', 'none')
    response.setHeader('ETag', `"${basename(path)}"`)
  }
  const files = (brotli: boolean, gzip: boolean) => serve(folder, { index: false, setHeaders, brotli, gzip })
  const filesIn = { br: files(true, false), gzip: files(false, true), identity: files(false, false) }
  return async (ctx, next) => {
    if (!isAsset(ctx.path)) return next()
    // A worker is subject to the policy in its script's response.
    if (ctx.path.endsWith('.js')) ctx.set(workerHeaders(ctx.hostname, ports()))
    ctx.vary('Accept-Encoding')
    await filesIn[encodingFor(ctx.get('Accept-Encoding'))](ctx, next)
    if (ctx.fresh) ctx.status = 304
  }
}

function encodingFor(accepted: string): 'br' | 'gzip' | 'identity' {
  const weights = new Map<string, number>()
  for (const [, coding = '', weight = '1'] of accepted
    .toLowerCase()
    .matchAll(/([\w*-]+)\s*(?:;\s*q\s*=\s*([^\s,;]*))?/g))
    weights.set(coding, Number(weight))
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0
  // Identity ranks last unless it is named.
  const plain = weights.get('identity') ?? 0
  const br = weightOf('br')
  const gzip = weightOf('gzip')
  if (br > 0 && br >= gzip && br >= plain) return 'br'
  return gzip > 0 && gzip >= plain ? 'gzip' : 'identity'
}
