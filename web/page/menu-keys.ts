// Where the arrow keys lead in a menu (WAI-ARIA Authoring Practices, "Menu and Menubar Pattern").

/** Index of the item that the key leads to, going round at the ends; null for a key that moves nothing. */
export function indexAfterKey(key: string, index: number, count: number): number | null {
  switch (key) {
    case 'ArrowDown':
      return (index + 1) % count
    case 'ArrowUp':
      return (index - 1 + count) % count
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return null
  }
}
