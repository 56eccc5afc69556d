/** Makes the result of each key once: later calls with the key get the same result. For the time of one request. */
export function onceEach<Result>(make: (key: string) => Result): (key: string) => Result {
  const made = new Map<string, Result>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const result = make(key)
    made.set(key, result)
    return result
  }
}
