/** Makes the compiler prove that a switch handles every case. */

/** @throws Error if it is reached at run time, which means that external data was not validated. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`)
}
