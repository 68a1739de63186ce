// The page's requests, by axios's adapter for XMLHttpRequest: its own, and those of its transports.

import sendByXhr from 'axios/lib/adapters/xhr.js'
import {
  browser,
  Http,
  now,
  type Platform,
  type Send,
  transportsByName,
  transportsOver,
} from '../client/transports.ts'

/**
 * The rest of axios would be idle: each request has its adapter, its whole address and its text, and the server
 * checks the Origin instead of a cookie.
 */
const sendByAxios: Send = async (method, url, body, { signal, timeoutMs }) => {
  const { status, data } = await sendByXhr({
    method,
    url,
    data: body,
    signal,
    timeout: timeoutMs,
    withCredentials: true,
    headers: body === null ? {} : { 'Content-Type': 'application/json' },
    validateStatus: null,
  })
  return { status, text: data, receivedAt: now() }
}

/** Platform of the page's connection. */
export const platform: Platform = { ...browser, send: sendByAxios }

/** For measuring: without the limit on HTTP/1.1 connections. */
export const freeTransports = /* @__PURE__ */ transportsOver(platform, Object.values(transportsByName))

/** Paths are below `/api`. */
export const openHttp = (signal = new AbortController().signal, timeoutMs = 20_000) =>
  new Http('/api', signal, timeoutMs, { send: sendByAxios })
