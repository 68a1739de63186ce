// The key that one user's windows of a browser have in common.

import { newKey } from './names.ts'

/** Where the browser denies storage, each window has a key of its own. */
export function browserKey(user: string): string {
  const item = `crosswind-key ${user}`
  try {
    const key = localStorage.getItem(item) ?? newKey()
    localStorage.setItem(item, key)
    return key
  } catch {
    return newKey()
  }
}
