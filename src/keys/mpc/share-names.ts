/** File names of a party's shares. */

/** Folder in the party's own directory. */
export const SHARES_FOLDER = 'shares'

/**
 * `<key>.<ordinal>.<generation>.share`. The ordinal gives the order in which the generations of a key were prepared.
 */
const FILE = /^([a-z0-9_-]{1,64})\.([1-9][0-9]{0,9})\.([a-z0-9_-]{1,64})\.share$/

export type ShareName = { readonly keyId: string; readonly ordinal: number; readonly generation: string }

export function shareName({ keyId, ordinal, generation }: ShareName): string {
  return `${keyId}.${ordinal}.${generation}.share`
}

/** `undefined` for a file that is not a share. */
export function parseShareName(name: string): ShareName | undefined {
  const [, keyId, ordinal, generation] = FILE.exec(name) ?? []
  if (keyId === undefined || generation === undefined) return undefined
  return { keyId, ordinal: Number(ordinal), generation }
}
