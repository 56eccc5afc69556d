/** How the processes of mpc are named: `party-1`, `coordinator`. A name is part of certificates, messages and file names. */

/** Short and of lower-case letters, digits and hyphens, so that it can leave no directory and no field. */
const PEER_NAME = /^[a-z][a-z0-9-]{0,31}$/

export const PEER_NAME_RULE = '1 to 32 lower-case letters, digits or "-", starting with a letter'

export function isPeerName(text: string): boolean {
  return PEER_NAME.test(text)
}
