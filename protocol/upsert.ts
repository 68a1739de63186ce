// Map.prototype.getOrInsertComputed (ECMAScript proposal "Upsert"), which Node 24 does not have.

interface MapLike<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): unknown
}

/** Returns the key's value; if there is none, creates and keeps one. */
export function upsert<Key, Value>(
  map: MapLike<Key, Value>,
  key: NoInfer<Key>,
  make: () => NoInfer<Value>,
): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
