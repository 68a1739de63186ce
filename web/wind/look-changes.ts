// Tells when the page's colours change under a drawing that has copied them.

const queries = ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)']

/** Returns the way to stop. */
export function onLookChange(listener: () => void): () => void {
  const watched = queries.map((query) => matchMedia(query))
  for (const query of watched) query.addEventListener('change', listener)
  return () => {
    for (const query of watched) query.removeEventListener('change', listener)
  }
}

/** Reads custom properties as they hold for the element. */
export function propertyReader(element: Element): (property: string) => string {
  const style = getComputedStyle(element)
  return (property) => style.getPropertyValue(property)
}
