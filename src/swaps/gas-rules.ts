/** Gas of swaps under each set of rules, and what questions to pools may use. */
import { type RuleSet, SLOT_CHANGE, WRITE_CHANGE } from '../chain/forks.ts'

type SwapGas = {
  /** Of a swap, as measured: V3 with one hop 119,000 to 138,000, V2 90,000 to 102,000, each further hop or leg the rest. */
  readonly swap: Readonly<Record<'v2' | 'v3', { readonly base: bigint; readonly hop: bigint }>>
  readonly wrap: bigint
  readonly unwrap: bigint
  /** What the unwrapping of its output adds to a swap. */
  readonly swapUnwrap: bigint
}

export const SWAP_GAS: Readonly<Record<RuleSet, SwapGas>> = {
  up_to_osaka: {
    swap: { v3: { base: 65_000n, hop: 65_000n }, v2: { base: 58_000n, hop: 45_000n } },
    wrap: 46_000n,
    unwrap: 36_000n,
    swapUnwrap: 10_000n,
  },
  amsterdam: {
    swap: {
      v3: { base: 65_000n + SLOT_CHANGE, hop: 65_000n + 6n * WRITE_CHANGE },
      v2: { base: 58_000n + SLOT_CHANGE, hop: 45_000n + 6n * WRITE_CHANGE },
    },
    wrap: 46_000n + SLOT_CHANGE,
    unwrap: 36_000n + 2n * WRITE_CHANGE,
    swapUnwrap: 10_000n,
  },
}

/** What no fork changes. */
export const POOL_GAS = {
  /** One question to a pool in company: a swap that crosses sixty prices of a V3 pool takes about so much. */
  inCompany: 2_000_000n,
  /** Each question to a pool that nobody was left to ask. */
  later: 3_000_000n,
  /** A question to a pool alone: a swap that takes more does not fit into a transaction (EIP-7825), with what surrounds it. */
  alone: 11_000_000n,
} as const
