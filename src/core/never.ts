/** Makes the compiler prove that a switch names every case. */

/** @throws Error if it is ever reached, which means that data from outside was not validated. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`)
}
