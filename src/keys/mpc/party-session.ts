/**
 * A party's part in one session: who sends when, and what this party does. A party that gives up notifies the others.
 */

import { AGREEMENT_ROUNDS } from './agree-on-shares.ts'
import { BanNotKept } from './party-bans.ts'
import type { PartyCeremonies } from './party-ceremonies.ts'
import { type PartySignPorts, takePartInSigning } from './party-sign.ts'
import { encodePayloads } from './payloads.ts'
import type { Begin, ItemOutcome, Refusal } from './protocol.ts'
import type { RoundTable, RoundTables } from './round-table.ts'

/** Rounds of key generation, and of a refresh after the parties have agreed, among all parties of the key. */
const CEREMONY_ROUNDS = 4
export const REFRESH_ROUNDS = AGREEMENT_ROUNDS + CEREMONY_ROUNDS

/** What sessions need of their party. */
export type SessionContext = {
  readonly me: number
  readonly signing: PartySignPorts
  readonly ceremonies: PartyCeremonies
  readonly tables: { readonly signing: RoundTables; readonly ceremonies: RoundTables }
}

/**
 * Rejects when the party cannot take part, with BanNotKept when no answer may be sent; the results of the items are in
 * the outcome.
 */
export async function takePart(ctx: SessionContext, session: string, begin: Begin): Promise<readonly ItemOutcome[]> {
  const { me, tables } = ctx
  const plan = planOf(begin, me)
  const table = (begin.ceremony === 'sign' ? tables.signing : tables.ceremonies).open(session, plan)
  if (table === undefined) return refuseAll(begin, unavailable('this session was already opened'))
  try {
    await table.seated(participantsOf(begin).filter((party) => party !== me))
    return await run(ctx, session, begin, table)
  } catch (error) {
    if (error instanceof BanNotKept) throw error
    // The others need not wait for a party that does not take part.
    const givenUp = encodePayloads(itemsOf(begin).map(() => null))
    for (const party of plan[0] ?? []) table.send(1, party, givenUp)
    throw error
  } finally {
    table.close()
  }
}

function run(
  { signing, ceremonies }: SessionContext,
  session: string,
  begin: Begin,
  table: RoundTable,
): Promise<readonly ItemOutcome[]> {
  if (begin.ceremony === 'sign') return takePartInSigning(signing, { session, begin, table })
  if (begin.ceremony === 'generate') return ceremonies.generate(begin, { session, table })
  if (begin.ceremony === 'refresh') return ceremonies.refresh(begin, { session, table })
  return ceremonies.repair(begin, { session, table })
}

/** The same refusal for all items. */
export function refuseAll(begin: Begin, refusal: Refusal): readonly ItemOutcome[] {
  return itemsOf(begin).map(() => ({ ok: false, refusal }))
}

export function unavailable(reason: string): Refusal {
  return { kind: 'unavailable', party: null, reason }
}

function itemsOf(begin: Begin): readonly unknown[] {
  return begin.ceremony === 'sign' ? begin.items : [begin]
}

function participantsOf(begin: Begin): readonly number[] {
  if (begin.ceremony === 'sign') return begin.signers
  return begin.ceremony === 'repair' ? [...begin.helpers, begin.target] : begin.parties
}

/** The senders of messages to this party, for each round. */
function planOf(begin: Begin, me: number): readonly (readonly number[])[] {
  if (begin.ceremony === 'sign') {
    const others = begin.signers.filter((party) => party !== me)
    return begin.finisher === me ? [others, others, others] : [others, others]
  }
  if (begin.ceremony === 'repair') {
    if (begin.target === me) return [begin.helpers]
    const helpers = begin.helpers.filter((party) => party !== me)
    return Array.from({ length: AGREEMENT_ROUNDS }, () => helpers)
  }
  const others = begin.parties.filter((party) => party !== me)
  return Array.from({ length: begin.ceremony === 'refresh' ? REFRESH_ROUNDS : CEREMONY_ROUNDS }, () => others)
}
