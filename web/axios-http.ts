// The page's requests, by axios: its own, and those of its transports.

import axios from 'axios'
import {
  browser,
  Http,
  type Platform,
  type Send,
  transportsByName,
  transportsOver,
} from '../client/transports.ts'
import { now } from '../client/wire.ts'

const sendByAxios: Send = async (method, url, body, { signal, timeoutMs }) => {
  let receivedAt = 0
  const { status, data } = await axios.request<string>({
    method,
    url,
    data: body,
    signal,
    timeout: timeoutMs,
    adapter: 'xhr',
    withCredentials: true,
    headers: body === null ? {} : { 'Content-Type': 'application/json' },
    // Otherwise axios awaits the cookie store before each request; the server checks the Origin instead.
    xsrfCookieName: '',
    validateStatus: null,
    transformRequest: (text) => text,
    transformResponse(text: string) {
      receivedAt = now()
      return text
    },
  })
  return { status, text: data, receivedAt }
}

/** Platform of the page's connection. */
export const platform: Platform = { ...browser, send: sendByAxios }

/** For measuring: without the limit on HTTP/1.1 connections. */
export const freeTransports = /* @__PURE__ */ transportsOver(platform, Object.values(transportsByName))

/** Paths are below `/api`. */
export const openHttp = (signal = new AbortController().signal, timeoutMs = 20_000) =>
  new Http('/api', signal, timeoutMs, { send: sendByAxios })
