import { onUnmounted, shallowRef } from 'vue'

/** The value of a store, while the component is mounted. On a server, where nothing is mounted, its first. */
export function useStore(store) {
  const value = shallowRef(store.getServerSnapshot())
  if (typeof document === 'undefined') return value
  onUnmounted(store.subscribe((snapshot) => (value.value = snapshot)))
  return value
}
