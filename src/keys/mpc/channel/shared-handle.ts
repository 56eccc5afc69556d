/**
 * Distinguishes connections of processes that share one name: `coordinator#1`, `coordinator#2`. Names cannot contain
 * this character.
 */
const SIGN = '#'

export function sharedHandle(name: string, connection: number): string {
  return `${name}${SIGN}${connection}`
}

/** The name of the peer process, without the connection's number. */
export function nameOfHandle(handle: string): string {
  return handle.split(SIGN)[0] ?? handle
}
