// What a person sees who is not let in: what happened and what to do, without scripts or anything from elsewhere.

import { createHash } from 'node:crypto'
import type { Refusal } from '../refusal.ts'

const headings: Readonly<Record<string, string>> = {
  'no-session': 'This page is by invitation',
  'session-expired': 'Your session has ended',
  'invitation-invalid': 'This link does not work',
  'invitation-expired': 'This link has ended',
}

const style = `
:root { color-scheme: light dark }
body { max-width: 34rem; margin: 18vh auto 0; padding: 0 1.5rem; font: 1.0625rem/1.6 system-ui, sans-serif }
h1 { font-size: 1.5rem; line-height: 1.25; font-weight: 600 }
code { font-size: 0.9375em }
`

const styleHash = createHash('sha256').update(style).digest('base64')

export const uninvitedPageHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  // The address of this page may be an invitation.
  'Referrer-Policy': 'no-referrer',
}

export function uninvitedPage({ code, message }: Refusal): string {
  const heading = headings[code] ?? headings['no-session']
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${heading} – Crosswind</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
<p>${asHtml(message)}</p>
</main>
</body>
</html>
`
}

function asHtml(sentence: string): string {
  const escaped = sentence.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return escaped.replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}
