/**
 * Which shares a refresh begins with, agreed among all parties of the key, and a repair, agreed among its helpers: those
 * that the log names if all of them have these, otherwise other ones that all of them have. Shares of two generations
 * would give new ones that fit nowhere, and the engine does not notice. They agree on the names too, under which a
 * coordinator might have each store something else.
 */
import type { JointKey } from './ceremonies.ts'
import { generationOf } from './loaded-shares.ts'
import { RefusalError } from './refusal-error.ts'
import { type RoundTable, Stalled } from './round-table.ts'
import { decodeClaims, encodeClaims } from './share-messages.ts'

/** What each party holds; then the refresh as each was told it, with its choice. */
export const AGREEMENT_ROUNDS = 2

export type AskedShares = {
  readonly key: Pick<JointKey, 'keyId' | 'refreshId'>
  /** The refresh as the coordinator told it to this party. */
  readonly begin: { readonly refreshId: string; readonly repaired: number | null }
  /** The generations that this party can begin with. */
  readonly held: readonly string[]
  readonly others: readonly number[]
  readonly table: Pick<RoundTable, 'send' | 'gather'>
}

/**
 * @returns the generation that every party begins with
 * @throws RefusalError when they do not agree: nothing was computed
 */
export async function agreeOnShares({ key, begin, held, others, table }: AskedShares): Promise<string> {
  const claims = await exchange(1, held, { others, table })
  const common = held.filter((generation) => [...claims.values()].every((claim) => claim.includes(generation)))
  const named = generationOf(key)
  // The ids of attempts ascend with time, and come after the name of the first shares.
  const choice = common.includes(named) ? named : common.toSorted().at(-1)
  const told = [key.keyId, begin.refreshId, `${begin.repaired}`]
  const mine = choice === undefined ? told : [...told, choice]
  const choices = await exchange(2, mine, { others, table })
  if (choice === undefined && !held.includes(named)) {
    throw new RefusalError({ kind: 'share_missing', party: null, reason: 'the party has no usable share' })
  }
  if (choice === undefined) throw refused(null, 'there are no shares that all parties hold')
  // A party may have told each of the others something else.
  for (const [party, theirs] of choices)
    if (theirs.join() !== mine.join()) throw refused(party, 'it begins another refresh, or with other shares')
  return choice
}

async function exchange(
  round: number,
  mine: readonly string[],
  { others, table }: Pick<AskedShares, 'others' | 'table'>,
): Promise<ReadonlyMap<number, readonly string[]>> {
  for (const party of others) table.send(round, party, encodeClaims(mine))
  const gathered = await table.gather(round).catch((error: unknown) => {
    if (!(error instanceof Stalled)) throw error
    throw new RefusalError({ kind: 'stalled', party: error.party, reason: error.message })
  })
  const claims = new Map<number, readonly string[]>()
  for (const [party, payload] of gathered) {
    const claim = decodeClaims(payload)
    if (claim === undefined) throw new RefusalError({ kind: 'given_up', party, reason: 'it aborted' })
    claims.set(party, claim)
  }
  return claims
}

function refused(party: number | null, reason: string): RefusalError {
  return new RefusalError({ kind: 'refused', party, reason })
}
