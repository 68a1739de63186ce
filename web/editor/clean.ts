// The one door for HTML that this window did not write itself: edits from others, and the clipboard.

import DOMPurify, { type Config } from 'dompurify'

// No span: without a style it says nothing, and Chromium leaves them behind when it merges blocks.
const tags = `p div br b strong i em u s strike del ins sub sup code pre blockquote
  h1 h2 h3 h4 h5 h6 ul ol li a img hr`.split(/\s+/)

const rules: Config = {
  ALLOWED_TAGS: tags,
  // No style, class or id: what others write may not look like, or stand in for, a part of the page.
  ALLOWED_ATTR: ['href', 'target', 'rel', 'src', 'alt', 'title', 'width', 'height'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
}

const purify = DOMPurify()

purify.addHook('afterSanitizeAttributes', (node) => {
  // A page that a link opens must not get hold of this window.
  if (node.tagName === 'A' && node.hasAttribute('target')) node.setAttribute('rel', 'noopener noreferrer')
})

/** The content as nodes, in an element of its own; nothing of it runs or loads code. */
export function cleanToElement(html: string): Node {
  return purify.sanitize(html, { ...rules, RETURN_DOM: true })
}

export function cleanToHtml(html: string): string {
  return purify.sanitize(html, rules)
}
