// Refusals as pages, for people.

import { escapeHtml } from '../../protocol/html-text.ts'
import type { Refusal } from '../../server/index.ts'
import { plainHeaders, plainPage, sourceOf } from './plain-page.ts'

const headings: Readonly<Record<string, string>> = {
  'no-session': 'This page is by invitation',
  'session-expired': 'Your session has ended',
  'invitation-invalid': 'This link does not work',
  'invitation-expired': 'This link has ended',
  'not-invited-there': 'Your invitation is for another page',
  'other-session': 'You have a session here already',
  'too-costly': 'This document takes too long to read',
  'not-found': 'There is no page here',
  'bad-channel': 'No page can have this name',
}

/** Sentences that follow those of the server. */
const waysOut: Readonly<Record<string, string>> = {
  'too-costly': ' Or add `?open` to its address, which may take a browser minutes.',
}

/** For people whose browser opened an address that is refused. */
export function showRefusal({ code, status, message }: Refusal) {
  const other = status >= 500 ? 'The server cannot show this page' : 'This address does not work'
  const heading = headings[code] ?? other
  const sentence = escapeHtml(message + (waysOut[code] ?? '')).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
  const main = `<p class="mark">${mark}Crosswind</p>
<h1>${heading}</h1>
<p>${sentence}</p>
${code === 'other-session' ? '<form method="post"><button>Open this link instead</button></form>\n' : ''}${status === 401 ? '' : '<p><a href="/">Go to the start page</a></p>\n'}`
  return {
    html: plainPage(heading, style, main),
    headers: code === 'other-session' ? confirmingHeaders : pageHeaders,
  }
}

/** As in web/page/favicon.svg. */
const mark = `<svg viewBox="0 0 32 32" width="32" height="32" fill="none" stroke-linecap="round" stroke-width="3" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#0b6763"/><path stroke="#ffffff" d="M6 12.5h13.5a3.25 3.25 0 1 0-3.1-4.2"/><path stroke="#9fe0d8" d="M6 18h17.2a3.4 3.4 0 1 1-3.2 4.5"/><path stroke="#ffffff" d="M6 23.5h7.5"/></svg>`

/** The colours of web/styles/page.css, which this page's policy blocks. */
const style = `
:root { color-scheme: light dark; --desk: #edf1f0; --ink: #17211f; --ink-soft: #50605c; --accent: #0b6763; --on-accent: #ffffff }
@media (prefers-color-scheme: dark) {
  :root { --desk: #0e1413; --ink: #e2eae8; --ink-soft: #a0b0ac; --accent: #74cbc1; --on-accent: #06201d }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--desk); color: var(--ink); font: 1.0625rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif }
main { max-width: 36rem; margin: 0 auto; padding: max(2rem, 16vh) 1.5rem 2rem; overflow-wrap: anywhere }
p { margin: 0 0 1.5rem }
.mark { display: flex; align-items: center; gap: 0.625rem; margin-bottom: 2.5rem; color: var(--ink-soft); font-weight: 600 }
h1 { margin: 0 0 0.75rem; font-size: 1.75rem; line-height: 1.25; font-weight: 600; text-wrap: balance }
code { font-size: 0.9375em }
form { margin-bottom: 1rem }
a, button { display: inline-block; padding: 0.5rem 1rem; border: 0; border-radius: 10px; background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 500; text-decoration: none }
a:hover, button:hover { text-decoration: underline }
a:focus-visible, button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`

const pageHeaders = plainHeaders(sourceOf(style))
const confirmingHeaders = {
  ...plainHeaders(sourceOf(style), "'self'"),
  // Under `no-referrer` browsers send the form with the origin `null` (Fetch, 3.2), which is refused.
  'Referrer-Policy': 'same-origin',
}
