/** Names of mpc processes: `party-1`, `coordinator`. They are used in certificates, messages and file names. */

/** Lower-case letters, digits and hyphens only, so that a name is safe in paths and fields. */
const PEER_NAME = /^[a-z][a-z0-9-]{0,31}$/

export const PEER_NAME_RULE = '1 to 32 lower-case letters, digits or "-", starting with a letter'

export function isPeerName(text: string): boolean {
  return PEER_NAME.test(text)
}
