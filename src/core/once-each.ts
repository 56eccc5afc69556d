/** Makes the result of each key once: later calls with the key get the same result. Nothing is forgotten: for few keys, or a short time. */
export function onceEach<Key, Result>(make: (key: Key) => Result): (key: Key) => Result {
  const made = new Map<Key, Result>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const result = make(key)
    made.set(key, result)
    return result
  }
}
