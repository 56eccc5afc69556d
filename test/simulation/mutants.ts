/** Ways to break a law on purpose: a simulation that does not catch each of them proves nothing. */
import type { StoreLaws } from './store.ts'

export type Mutant = {
  readonly name: string
  readonly laws: StoreLaws
  /** The follower forgets hashes above its cursor without looking at its fence, as it once did. */
  readonly forgetsAbove: boolean
  /** Blocks that leave the chain are not undone. */
  readonly keepsOrphans: boolean
  /** A node that does not answer is taken for proof that a nonce is lost. */
  readonly trustsSilence: boolean
  /** Bytes go to the node that are not those in the log. */
  readonly sendsUnlogged: boolean
  /** The lane looks at the chain alone for its next nonce. */
  readonly forgetsNonces: boolean
  /** How many hashes the follower remembers: no law, but a storm reaches a small number. */
  readonly keptHashes: number
}

export const HONEST: Mutant = {
  name: 'honest',
  laws: { fences: true, nonces: true, releases: true },
  forgetsAbove: false,
  keepsOrphans: false,
  trustsSilence: false,
  sendsUnlogged: false,
  forgetsNonces: false,
  keptHashes: 512,
}

export const MUTANTS: readonly Mutant[] = [
  { ...HONEST, name: 'holds are not given back', laws: { ...HONEST.laws, releases: false } },
  { ...HONEST, name: 'orphaned blocks are not undone', keepsOrphans: true },
  { ...HONEST, name: 'a timeout is taken for a lost nonce', trustsSilence: true },
  { ...HONEST, name: 'the log is written after the act', sendsUnlogged: true },
  {
    ...HONEST,
    name: 'a nonce is given twice',
    laws: { ...HONEST.laws, nonces: false },
    forgetsNonces: true,
  },
]
