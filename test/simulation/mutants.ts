/**
 * Deliberate violations of the laws, and the defects that the simulation found: a simulation that does not detect each
 * of them proves nothing.
 */
import type { StoreLaws } from './store.ts'

export type Mutant = {
  readonly name: string
  readonly laws: StoreLaws
  /** Blocks that leave the chain are not undone. */
  readonly keepsOrphans: boolean
  /** A node that does not answer counts as proof that a nonce is lost. */
  readonly trustsSilence: boolean
  /** Bytes are submitted before they are in the log. */
  readonly sendsUnlogged: boolean
  /** The lane takes its next nonce from the chain only. */
  readonly forgetsNonces: boolean
  /** Blocks from before the chain was followed are never checked. */
  readonly missesBlocks: boolean
  /** Deposits to a wallet are ignored. */
  readonly missesDeposits: boolean
  /** Spending of a wallet is ignored. */
  readonly missesSpending: boolean
  /** Outcomes are told with their block. */
  readonly tellsEarly: boolean
  /** Balances read in orphaned blocks are kept. */
  readonly keepsBalances: boolean
  /** The process's clock determines the age of a row. */
  readonly trustsClocks: boolean
  /** What does the same as a waiting request counts as its forgotten signature: of any time, or of its last minutes. */
  readonly matchesContent: 'always' | 'within_minutes' | null
  /** Transactions from before the oldest request, by the clock, are not looked at. */
  readonly looksSince: boolean
  /** A restored lane is signed without asking nodes what they show of it. */
  readonly skipsLook: boolean
  /** The tag is that of the transaction id, also where the client sent a key. */
  readonly tagsIds: boolean
  /** What does the same with the nonce of a request counts as its newer bytes. */
  readonly takesOwnNonce: boolean
  /** The jobs of one partition are lost, whoever finds its work. */
  readonly dropsPartition: boolean
  /** All lanes are worked on as those of one tenant. */
  readonly takesNoTurns: boolean
}

export const HONEST: Mutant = {
  name: 'honest',
  laws: { fences: true, nonces: true, releases: true, fits: true, signaturesFit: true, deadlines: true },
  keepsOrphans: false,
  trustsSilence: false,
  sendsUnlogged: false,
  forgetsNonces: false,
  missesBlocks: false,
  missesDeposits: false,
  missesSpending: false,
  tellsEarly: false,
  keepsBalances: false,
  trustsClocks: false,
  matchesContent: null,
  looksSince: false,
  skipsLook: false,
  tagsIds: false,
  takesOwnNonce: false,
  dropsPartition: false,
  takesNoTurns: false,
}

/** Deliberately broken laws. */
export const MUTANTS: readonly Mutant[] = [
  { ...HONEST, name: 'holds are not given back', laws: { ...HONEST.laws, releases: false } },
  { ...HONEST, name: 'more is accepted than is available', laws: { ...HONEST.laws, fits: false } },
  { ...HONEST, name: 'a signature is recorded after its deadline', laws: { ...HONEST.laws, deadlines: false } },
  { ...HONEST, name: 'deposits are not seen', missesDeposits: true },
  { ...HONEST, name: 'spending is not seen', missesSpending: true },
  { ...HONEST, name: 'outcomes are told with their block', tellsEarly: true },
  { ...HONEST, name: 'balances of orphaned blocks stand', keepsBalances: true },
  { ...HONEST, name: 'orphaned blocks are not undone', keepsOrphans: true },
  { ...HONEST, name: 'a timeout is taken for a lost nonce', trustsSilence: true },
  { ...HONEST, name: 'bytes are sent before they are recorded', sendsUnlogged: true },
  { ...HONEST, name: 'two holders of a partition sign its lane', laws: { ...HONEST.laws, fences: false } },
  { ...HONEST, name: 'nobody takes a partition', dropsPartition: true },
  { ...HONEST, name: 'tenants do not take turns', takesNoTurns: true },
  { ...HONEST, name: 'a nonce is given twice', laws: { ...HONEST.laws, nonces: false }, forgetsNonces: true },
]

/** Defects that were found and fixed, each with a seed from which it shows soon. */
export const FOUND: readonly (Mutant & { readonly seed: number })[] = [
  { ...HONEST, name: 'what was mined before the chain was followed is never seen', missesBlocks: true, seed: 60 },
  { ...HONEST, name: 'after a clock was set back a lane stands still', trustsClocks: true, seed: 28 },
]

/** Deliberate violations that only a restore shows. */
export const RESTORE_MUTANTS: readonly Mutant[] = [
  {
    ...HONEST,
    name: 'what does the same, within minutes of the request, is taken for it',
    matchesContent: 'within_minutes',
  },
  { ...HONEST, name: 'what does the same is taken for any request', matchesContent: 'always' },
  { ...HONEST, name: 'only what is newer than the request, by the clock, is looked at', looksSince: true },
  { ...HONEST, name: 'nodes are not asked before a restored lane is signed', skipsLook: true },
  { ...HONEST, name: 'a tag is that of the id though a key was sent', tagsIds: true },
  { ...HONEST, name: 'what does the same with its nonce is taken for its own', takesOwnNonce: true },
]
