/**
 * Chooses the signers of a key: reachable parties that are not kept apart, in rotation, recent failures last. When a
 * session fails, the accuser and the accused both get a strike, since either may be at fault. Parties that sign
 * successfully are cleared, and a faulty one is struck again. So only a few sessions include a party that hangs, or
 * that accuses others to keep them from signing, before it is avoided.
 */
import { Unavailable } from '../../core/errors.ts'
import type { JointKey } from './ceremonies.ts'
import { partiesUnavailable } from './coordinator.ts'
import { partyName } from './party-names.ts'

/** Time after its last strike during which other parties are preferred, ms. */
export const DOUBTFUL_MS = 30_000

export type SignerChoice = {
  /** @throws Unavailable `mpc_parties_unavailable` when fewer than the threshold can sign now; `mpc_parties_apart` */
  readonly choose: (key: Pick<JointKey, 'parties' | 'threshold' | 'banned' | 'apart'>) => readonly number[]
  /** These parties were named in a failed session. */
  readonly strike: (parties: ReadonlySet<number>) => void
  /** These parties have just signed. */
  readonly clear: (parties: readonly number[]) => void
}

export function createSignerChoice(ports: {
  readonly reachable: () => readonly number[]
  readonly now: () => number
}): SignerChoice {
  const struck = new Map<number, { readonly strikes: number; readonly until: number }>()
  let turn = 0
  function strikesOf(party: number): number {
    const { strikes, until } = struck.get(party) ?? { strikes: 0, until: 0 }
    return until > ports.now() ? strikes : 0
  }
  return {
    choose({ parties, threshold, banned, apart }) {
      const here = ports.reachable()
      const able = parties.filter((party) => here.includes(party) && !banned.includes(party))
      if (able.length < threshold) throw partiesUnavailable(parties.filter((party) => !able.includes(party)))
      turn += 1
      const inTurn = able.map((_, index) => able[(index + turn) % able.length] as number)
      const strikes = new Map(able.map((party) => [party, strikesOf(party)]))
      const ranked = inTurn.sort((one, other) => (strikes.get(one) ?? 0) - (strikes.get(other) ?? 0))
      const signers = together(ranked, threshold, apart)
      if (signers === null) throw keptApart(apart)
      return signers
    },
    strike(parties) {
      for (const party of parties) {
        struck.set(party, { strikes: strikesOf(party) + 1, until: ports.now() + DOUBTFUL_MS })
      }
    },
    clear(parties) {
      for (const party of parties) struck.delete(party)
    },
  }
}

/**
 * The first of them in order such that no two are kept apart. At most 20 parties and few pairs, so the search is short.
 */
function together(ranked: readonly number[], count: number, apart: JointKey['apart']): readonly number[] | null {
  if (count === 0) return []
  if (ranked.length < count) return null
  const [first, ...rest] = ranked as readonly [number, ...number[]]
  const partners = rest.filter((party) => !apart.some((pair) => pair.includes(first) && pair.includes(party)))
  const others = together(partners, count - 1, apart)
  return others === null ? together(rest, count, apart) : [first, ...others]
}

function keptApart(apart: JointKey['apart']): Unavailable {
  const pairs = apart.map((pair) => pair.map(partyName).join(' and ')).join(', ')
  const rule = `Too few parties can sign together with this key: ${pairs} do not sign together, because one reports that the other failed a check.`
  return new Unavailable('mpc_parties_apart', `${rule} Check these parties, then refresh the shares.`)
}
