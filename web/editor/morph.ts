// morphdom behind a typed door: its declarations speak of a CommonJS module, what is bundled is its ES module.

import imported from 'morphdom'

const morphdom = imported as unknown as typeof imported.default

/** Makes the children of `root` like those of `wanted`, touching only what differs. */
export function morph(root: HTMLElement, wanted: Node): void {
  morphdom(root, wanted, { childrenOnly: true })
}
