// A jsdom window in which charts are drawn and pages are read without a browser.

import { JSDOM } from 'jsdom'

export const { window } = new JSDOM('')

/** A document of its own. */
export function parsed(text: string, type: 'text/html' | 'image/svg+xml' = 'text/html'): Document {
  return new window.DOMParser().parseFromString(text, type)
}
