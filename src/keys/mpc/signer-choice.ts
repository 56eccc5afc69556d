/** Who of a key's parties signs next: those that can be reached, in turn, and those last that gave trouble lately. */
import type { JointKey } from './ceremonies.ts'
import { partiesUnavailable } from './coordinator.ts'

/** So long others are asked before a party that gave trouble. */
const DOUBTFUL_MS = 30_000

export type SignerChoice = {
  /** @throws Unavailable `mpc_parties_unavailable` when fewer than the threshold can sign now */
  readonly choose: (key: Pick<JointKey, 'parties' | 'threshold' | 'banned'>) => readonly number[]
  readonly doubt: (party: number) => void
}

export function createSignerChoice(ports: {
  readonly reachable: () => readonly number[]
  readonly now: () => number
}): SignerChoice {
  const doubtfulUntil = new Map<number, number>()
  let turn = 0
  return {
    choose({ parties, threshold, banned }) {
      const here = ports.reachable()
      const able = parties.filter((party) => here.includes(party) && !banned.includes(party))
      if (able.length < threshold) throw partiesUnavailable(parties.filter((party) => !able.includes(party)))
      const now = ports.now()
      const doubt = (party: number) => Math.max(now, doubtfulUntil.get(party) ?? 0)
      turn += 1
      const inTurn = able.map((_, index) => able[(index + turn) % able.length] as number)
      return inTurn.sort((one, other) => doubt(one) - doubt(other)).slice(0, threshold)
    },
    doubt: (party) => void doubtfulUntil.set(party, ports.now() + DOUBTFUL_MS),
  }
}
