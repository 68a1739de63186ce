// Keeps track of whether the document is empty, so that the stylesheet can show the placeholder.

/**
 * Sets `data-empty` on the content's parent while it is empty, whoever emptied or filled it; returns the way to stop.
 * The mark is outside the content, so that setting it is no edit, and medium-editor's own placeholder is not
 * used, because it serialises the whole content at every key and misses what arrives from other windows.
 */
export function markWhileEmpty(content: HTMLElement): () => void {
  const mark = () => content.parentElement?.toggleAttribute('data-empty', isEmpty(content))
  const observer = new MutationObserver(mark)
  observer.observe(content, { childList: true, characterData: true, subtree: true })
  mark()
  return () => observer.disconnect()
}

/** At most one paragraph, and nothing in it: cheap to tell however long the document is. */
function isEmpty(content: HTMLElement): boolean {
  if (content.childNodes.length > 1) return false
  const only = content.firstElementChild
  return (
    content.textContent.trim() === '' &&
    (only === null || /^(P|DIV|BR)$/.test(only.tagName)) &&
    !content.querySelector('img')
  )
}
