// The built web app's hashed files, in the encoding that the client prefers.

import type { ServerResponse } from 'node:http'
import { basename } from 'node:path'
import type { Middleware } from 'koa'
import serve from 'koa-static'
import { workerHeaders } from '../security/middleware.ts'

/** Excludes the build's compressed variants. */
const assetPath = /^\/assets\/[\w-]+(?:\.[\w-]+)+$/
const isAsset = (path: string) => assetPath.test(path) && !path.endsWith('.br') && !path.endsWith('.gz')

/**
 * Serves hashed, precompressed files. Only they and the wind history are compressed: compression delays streams, and a
 * compressed length leaks the text (BREACH).
 */
export function serveAssets(folder: string, ports: () => readonly number[]): Middleware {
  const setHeaders = (response: ServerResponse, path: string) => {
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
    response.setHeader('Accept-Ranges', 'none')
    response.setHeader('ETag', `"${basename(path)}"`)
  }
  const files = (brotli: boolean, gzip: boolean) => serve(folder, { index: false, setHeaders, brotli, gzip })
  const filesIn = { br: files(true, false), gzip: files(false, true), identity: files(false, false) }
  return async (ctx, next) => {
    if (!isAsset(ctx.path)) return next()
    // A worker runs under the policy of its script's response.
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
  const [br, gzip] = [weightOf('br'), weightOf('gzip')]
  if (br > 0 && br >= gzip && br >= plain) return 'br'
  return gzip > 0 && gzip >= plain ? 'gzip' : 'identity'
}
