/** Parties have numbers in ceremonies and names on channels. */

export const COORDINATOR = 'coordinator'

export function partyName(party: number): string {
  return `party-${party}`
}

/** The number of a party from its name, or undefined for any other name. */
export function partyNumber(name: string): number | undefined {
  const number = /^party-([1-9][0-9]{0,2})$/.exec(name)?.[1]
  return number === undefined ? undefined : Number(number)
}
