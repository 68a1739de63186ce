// The key that one user's windows of a browser have in common.

import { holdForLife } from './browser-services.ts'
import { newKey } from './names.ts'

const keyLength = 24

/** Without Web Locks, or where the browser denies storage, each window has a key of its own. */
export async function browserKey(user: string): Promise<string> {
  const item = `crosswind-key ${user}`
  try {
    return await navigator.locks.request('crosswind-key', async () => {
      const key = (await shownKey(item)) ?? localStorage.getItem(item) ?? newKey()
      localStorage.setItem(item, key)
      // A name that begins with a hyphen, as a key may, is reserved.
      await holdForLife(navigator.locks, item + key, undefined, 'shared')
      return key
    })
  } catch {
    return newKey()
  }
}

/** Storage may not have yet what another window has just written there, so each names its key in a lock. */
async function shownKey(item: string): Promise<string | undefined> {
  const { held = [] } = await navigator.locks.query()
  return held.find(({ name = '' }) => name.slice(0, -keyLength) === item)?.name?.slice(-keyLength)
}
