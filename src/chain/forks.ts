/**
 * The gas numbers of the product. A fork of a chain changes what they should be, so no other file has one (a test looks), except
 * `gas-rules.ts` of a capability, which has its own for each set of rules: what depends on the rules of a fork is in `GasRules`,
 * and what no fork changes, because it is our own bound, is in `GAS_BOUNDS`. All in units of gas.
 *
 * Sources: EIP-2780, EIP-8037 and EIP-8038 as of 2026-08-04 (ethereum/EIPs 8331fb3e, status Review: figures may still
 * move), EIP-7825, EIP-7623, EIP-7976, and `params/protocol_params.go` of go-ethereum 02b73d4e (2026-08-20), whose names
 * are given. What no EIP states was measured; docs/records/nft-gas.md has the costs before Amsterdam.
 */

/** In the order of activation. Chains with forks of their own count as the newest one whose rules they have. */
export const FORKS = ['before_shanghai', 'shanghai', 'cancun', 'prague', 'osaka', 'amsterdam'] as const
/** `unknown`: what a chain shows fits none of them; estimates of its nodes then come before every number here. */
export type Fork = (typeof FORKS)[number] | 'unknown'

/** What a call costs by the tokens that it handles. */
export type GasCurve = { readonly base: bigint; readonly perToken: bigint }
export type ByteCurve = { readonly base: bigint; readonly perByte: bigint }

/** Rules that differ. A capability with gas numbers has them for each set: one more does not compile without. */
export type RuleSet = 'up_to_osaka' | 'amsterdam'

export type GasRules = {
  readonly set: RuleSet
  /** The native currency to an account that exists, without code; also 0 of it to the sender itself, which may need less. */
  readonly transfer: bigint
  /** On top, if the account does not exist: it has no balance, nonce or code (EIP-161). */
  readonly newAccount: bigint
  /**
   * Held for the native currency to code, if no node estimates it: a Safe uses about 28,000, a contract that forwards the
   * funds up to 80,000, and what it creates on top.
   */
  readonly contractTransfer: bigint
  /** Held for a token at least: above what common tokens use, with a new balance of the recipient. */
  readonly tokenTransfer: bigint
  /** The most that a transaction may have. Nodes refuse more, or estimate no more. */
  readonly transaction: bigint
  /** A byte of call data at its highest price. */
  readonly dataByte: bigint
  /** An approval of a token: 46,298 of a plain one before Amsterdam, more of one behind a proxy. */
  readonly approval: bigint
  /** A contract through the deployment proxy, by the bytes of its code. */
  readonly contract: ByteCurve
}

/** `MaxTxGas` (EIP-7825, Osaka): of all gas before Amsterdam, of execution gas alone since (EIP-8037). */
export const MAX_EXECUTION_GAS = 1n << 24n

/** The rules up to Osaka. */
const UP_TO_OSAKA: GasRules = {
  set: 'up_to_osaka',
  transfer: 21_000n, // TxGas
  newAccount: 0n,
  contractTransfer: 100_000n,
  tokenTransfer: 100_000n,
  transaction: MAX_EXECUTION_GAS,
  dataByte: 40n, // EIP-7623: TxCostFloorPerToken times TxTokenPerNonZeroByte
  approval: 60_000n,
  contract: { base: 100_000n, perByte: 300n },
}

/** `CostPerStateByte` (EIP-8037). */
export const STATE_BYTE = 1_530n
/** `AccountCreationSize` and `StorageCreationSize` (EIP-8037), in bytes of state. */
export const NEW_ACCOUNT = 120n * STATE_BYTE
const NEW_SLOT = 64n * STATE_BYTE
/** A new slot was 20,000 of 22,100; now `STORAGE_WRITE` (EIP-8038) and its bytes. */
export const SLOT_CHANGE = 10_000n - 20_000n + NEW_SLOT
/** A changed slot was 2,900 beside its access; now `STORAGE_WRITE`. */
export const WRITE_CHANGE = 10_000n - 2_900n

/** EIP-2780, EIP-8037, EIP-8038: state is paid by its bytes, on top of what is executed. */
const AMSTERDAM: GasRules = {
  set: 'amsterdam',
  transfer: 21_000n, // TxBaseCost2780 + ColdAccountAccessAmsterdam + TxValueCost2780
  newAccount: NEW_ACCOUNT,
  contractTransfer: 100_000n + NEW_SLOT,
  tokenTransfer: 100_000n + SLOT_CHANGE + 2n * WRITE_CHANGE,
  transaction: 50_000_000n, // the most that nodes estimate by default (geth: --rpc.gascap), below a block of Sepolia
  dataByte: 64n, // EIP-7976: TxCostFloorPerToken7976 times TxTokenPerNonZeroByte
  approval: 60_000n + SLOT_CHANGE,
  contract: { base: 100_000n + NEW_ACCOUNT, perByte: 300n + STATE_BYTE },
}

/** @returns for an unknown fork the dearest rules that are known */
export function rulesOf(fork: Fork): GasRules {
  return fork === 'amsterdam' || fork === 'unknown' ? AMSTERDAM : UP_TO_OSAKA
}

/** A transaction before its execution at most (`TxGas`; TxBaseCost2780, TxValueCost2780 and an account access are no more). */
export const INTRINSIC_GAS = 21_000n
/** A byte of call data of a transaction that executes something (`TxDataNonZeroGasEIP2028`). */
export const DATA_BYTE_GAS = 16n
/**
 * What moves nothing, from the sender to itself: 21,000 up to Osaka (`TxGas`), 12,000 since Amsterdam (`TxBaseCost2780`). Unused
 * gas costs nothing, so one limit serves both.
 */
export const EMPTY_TRANSFER_GAS = 21_000n

/** What no fork changes: how far others are trusted, and what reads may use. */
export const GAS_BOUNDS = {
  /**
   * What moves nothing: a cancellation, or a filler of a gap. Far above what it uses, so that no change of the gas rules of
   * a chain requires a change of those who sign.
   */
  empty: 100_000n,
  /**
   * The state, or the rules, of a chain may require more gas than a request reserved: a transfer that was accepted before
   * Amsterdam, to an account that does not exist, needs 186,400 more.
   */
  extra: 200_000n,
  /**
   * How many times what it reserved a call that the service itself encodes may need, if a fork has come since. Amsterdam: the
   * deployment of a collection 6 times, a mint 5 times, with a margin.
   */
  ownCallTimes: 8n,
  /** A call of a client whose wallet has too little for an estimate: the append refuses it. */
  unestimatedCall: 100_000n,
  /** One read of a balance of a token. Common tokens use 3,000 to 30,000, those that compute interest up to 200,000. */
  tokenRead: 500_000n,
  /** A read of a balance in a simulation of a wallet's calls, where each asset is read twice. */
  simulatedRead: 100_000n,
  /** The gas limit of the simulated block. Nodes have a limit of their own for the whole request. */
  simulatedBlock: 200_000_000n,
  /** A call with many reads: below the limit of a transaction (EIP-7825), which some nodes apply to calls too. */
  manyReads: 16_000_000n,
  /** Many times what token transfers use; a contract that loops takes a node about 20 ms. */
  tokenTransferMost: 5_000_000n,
} as const

/** A block of the local chains that the sandbox makes. */
export const SANDBOX_BLOCK_GAS = 200_000_000n

/** Of the exchanges on local chains: half as much again as is used. */
export function sandboxPoolGas(fork: Fork): { readonly pool: bigint; readonly pair: bigint } {
  const paysForState = rulesOf(fork).newAccount > 0n
  return paysForState ? { pool: 48_000_000n, pair: 24_000_000n } : { pool: 8_000_000n, pair: 4_000_000n }
}
