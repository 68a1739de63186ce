// Pages of the server's own, for people: no script, nothing loaded.

import { createHash } from 'node:crypto'

/** A page of the server's own, without scripts. `main` is HTML and ends with a line end. */
export const plainPage = (title: string, css: string, main: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – Crosswind</title>
<style>${css}</style>
</head>
<body>
<main>
${main}</main>
</body>
</html>
`

/**
 * Headers for a page that loads and runs nothing. `styles` and `formAction` are sources (Content
 * Security Policy, level 3).
 */
export const plainHeaders = (styles: string, formAction = "'none'"): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': `default-src 'none'; style-src ${styles}; base-uri 'none'; form-action ${formAction}; frame-ancestors 'none'`,
  // The URL may contain an invitation.
  'Referrer-Policy': 'no-referrer',
})

/** The CSP source of a style element's content. */
export const sourceOf = (css: string) => `'sha256-${createHash('sha256').update(css).digest('base64')}'`
