/** How connections of processes that share one name are told apart: `coordinator#1`, `coordinator#2`. No name has such a sign. */
const SIGN = '#'

export function sharedHandle(name: string, connection: number): string {
  return `${name}${SIGN}${connection}`
}

/** The name of the process at the other end, without what tells its connections apart. */
export function nameOfHandle(handle: string): string {
  return handle.split(SIGN)[0] ?? handle
}
