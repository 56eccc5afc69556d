/**
 * Who of a key's parties signs next: those that can be reached, in turn, and those last that gave trouble lately. When a
 * session stalls, the one that hangs and the one that waited for it accuse each other, so both are struck; who then signs
 * with others is cleared, and who hangs again is struck again. So few sessions meet a hanging party before it is left alone.
 */
import type { JointKey } from './ceremonies.ts'
import { partiesUnavailable } from './coordinator.ts'

/** So long after its last strike others are asked before a party. */
const DOUBTFUL_MS = 30_000

export type SignerChoice = {
  /** @throws Unavailable `mpc_parties_unavailable` when fewer than the threshold can sign now */
  readonly choose: (key: Pick<JointKey, 'parties' | 'threshold' | 'banned'>) => readonly number[]
  /** These were named as troublesome in one session. */
  readonly strike: (parties: ReadonlySet<number>) => void
  /** These have just signed. */
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
    choose({ parties, threshold, banned }) {
      const here = ports.reachable()
      const able = parties.filter((party) => here.includes(party) && !banned.includes(party))
      if (able.length < threshold) throw partiesUnavailable(parties.filter((party) => !able.includes(party)))
      turn += 1
      const inTurn = able.map((_, index) => able[(index + turn) % able.length] as number)
      const strikes = new Map(able.map((party) => [party, strikesOf(party)]))
      return inTurn.sort((one, other) => (strikes.get(one) ?? 0) - (strikes.get(other) ?? 0)).slice(0, threshold)
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
