/**
 * What is told of the native currency that no value of a transaction explains: of one wallet in one block, from all sources at
 * once. Pure.
 *
 * Invariant: what is told as received, less what is told as sent, is never more than what proofs, or a quorum, show. A source of one
 * node alone adds the hash and the sender to an amount that is known without it, and nothing else.
 */
import type { Direction } from '../events.ts'

/** Native currency that code moved to or from the wallet. */
export type Movement = {
  /** Of the transaction, which succeeded. */
  readonly hash: string
  /** As seen from the wallet. */
  readonly direction: Direction
  /** In lower case. */
  readonly counterparty: string
  /** Wei, above zero. */
  readonly amount: bigint
}

/** Movements of all transactions of the block, in its order, that nodes trace. */
export type TraceOfWallet = {
  /** `agreed`: a quorum shows the same; `claimed`: one node. */
  readonly standing: 'agreed' | 'claimed'
  /** Who shows it, for doubts about it. */
  readonly hosts: readonly string[]
  readonly movements: readonly Movement[]
}

/** What is known of one wallet in one block. All amounts are wei. */
export type WalletEvidence = {
  /** Values of transactions to the wallet, less those from it: proven. */
  readonly values: bigint
  /** What its own transactions paid for gas; `null` if that does not follow from the block (blobs). */
  readonly fees: bigint | null
  /** Of validators (EIP-4895), under the root in the header. */
  readonly withdrawals: bigint
  /** Tips of the block; 0 for a wallet that does not get them, `null` where the rules of the chain are not known. */
  readonly reward: bigint | null
  /** Proven and complete; `null` where the chain logs no native currency. */
  readonly logs: readonly Movement[] | null
  readonly traces: readonly TraceOfWallet[]
  /** Of the balance, from the parent of the block to the block; `null` if it was not read. */
  readonly change: { readonly standing: 'proven' | 'agreed'; readonly wei: bigint } | null
  /**
   * Transactions of the block that succeeded and name the wallet, in the order of the block. Read only where a balance alone
   * decides: looking for them takes longer than all else.
   */
  readonly mentions: readonly string[]
}

export const INTERNAL_SOURCES = ['internal', 'withdrawal', 'reward'] as const
/** `internal`: code moved it; `withdrawal`: of a validator; `reward`: tips or a reward of the block. */
export type InternalSource = (typeof INTERNAL_SOURCES)[number]

export type ToldTransfer = {
  readonly source: InternalSource
  readonly direction: Direction
  /** `null` if it is of no transaction, or it is not known of which. */
  readonly hash: string | null
  /** `null` if there are several, or it is not known. */
  readonly counterparty: string | null
  /** Wei, above zero. */
  readonly amount: bigint
  /** Who answers for hash and counterparty. A `hint` may be wrong: the amount is not. */
  readonly attribution: 'proven' | 'agreed' | 'hint'
}

export type ToldOfWallet = {
  /** At most one `internal` for each transaction and direction. */
  readonly transfers: readonly ToldTransfer[]
  /** Nodes whose trace a proof refutes. */
  readonly refuted: readonly string[]
}

type Accepted = { readonly movements: readonly Movement[]; readonly attribution: ToldTransfer['attribution'] }

export function toldOfWallet(evidence: WalletEvidence): ToldOfWallet {
  const byCode = netByCode(evidence)
  const trace = evidence.traces.find((one) => stands(one, byCode))
  const accepted = acceptedOf(evidence, trace)
  const told = accepted === null ? [] : [...summed(accepted)]
  return {
    transfers: [...plainIncome(evidence), ...told, ...remainder(evidence, byCode, accepted)],
    refuted: evidence.traces.filter((one) => isRefuted(one, byCode)).flatMap(({ hosts }) => hosts),
  }
}

type Net = { readonly standing: 'proven' | 'agreed'; readonly wei: bigint }

/** What code moved to the wallet less what it moved away, from balances; `null` if these do not say it. */
function netByCode({ change, values, fees, withdrawals, reward }: WalletEvidence): Net | null {
  if (change === null || fees === null || reward === null) return null
  return { standing: change.standing, wei: change.wei - values + fees - withdrawals - reward }
}

/** Logs are proven and complete: no trace is needed beside them. */
function acceptedOf({ logs }: WalletEvidence, trace: TraceOfWallet | undefined): Accepted | null {
  if (logs !== null) return { movements: logs, attribution: 'proven' }
  if (trace === undefined) return null
  return { movements: trace.movements, attribution: trace.standing === 'agreed' ? 'agreed' : 'hint' }
}

/**
 * A proof refutes any trace with another sum. One node can make up what goes through a wallet and leaves its balance as it was,
 * so that a trace of one node with anything sent is not believed, whatever its sum is.
 */
function stands(trace: TraceOfWallet, byCode: Net | null): boolean {
  if (isRefuted(trace, byCode)) return false
  if (trace.standing === 'agreed') return true
  const isOneWay = trace.movements.every(({ direction }) => direction === 'in')
  return isOneWay && byCode !== null && netOf(trace.movements) === byCode.wei
}

function isRefuted({ movements }: TraceOfWallet, byCode: Net | null): boolean {
  return byCode?.standing === 'proven' && netOf(movements) !== byCode.wei
}

function netOf(movements: readonly Movement[]): bigint {
  return movements.reduce((sum, { direction, amount }) => (direction === 'in' ? sum + amount : sum - amount), 0n)
}

/** One for each transaction and direction: a contract that pays in a thousand parts makes one row. */
function summed({ movements, attribution }: Accepted): ToldTransfer[] {
  const sums = new Map<string, ToldTransfer>()
  for (const { hash, direction, counterparty, amount } of movements) {
    const key = `${hash} ${direction}`
    const before = sums.get(key)
    const isSame = before === undefined || before.counterparty === counterparty
    sums.set(key, {
      ...{ source: 'internal', direction, hash, attribution },
      counterparty: isSame ? counterparty : null,
      amount: amount + (before?.amount ?? 0n),
    })
  }
  return [...sums.values()]
}

/** Both follow from the proven block. */
function plainIncome({ withdrawals, reward }: WalletEvidence): ToldTransfer[] {
  const income = [
    { source: 'withdrawal' as const, amount: withdrawals },
    { source: 'reward' as const, amount: reward ?? 0n },
  ]
  return income
    .filter(({ amount }) => amount > 0n)
    .map((one) => ({ ...one, direction: 'in', hash: null, counterparty: null, attribution: 'proven' }))
}

/**
 * What the balance shows beside all that is told. Beside logs and traces only a proof counts: these are of the block itself, and
 * a node may answer a balance as of another one. Where the rules of rewards are unknown, it is the reward if all else is known.
 */
function remainder(evidence: WalletEvidence, byCode: Net | null, accepted: Accepted | null): ToldTransfer[] {
  const { change, reward, values, fees, withdrawals } = evidence
  const known = accepted === null ? 0n : netOf(accepted.movements)
  if (byCode !== null) {
    const wei = byCode.wei - known
    if (wei === 0n || (accepted !== null && byCode.standing !== 'proven')) return []
    const [hash = null, ...others] = accepted === null ? evidence.mentions : []
    return [rest('internal', wei, others.length === 0 ? hash : null)]
  }
  if (change?.standing !== 'proven' || reward !== null || fees === null || accepted === null) return []
  const wei = change.wei - values + fees - withdrawals - known
  return wei > 0n ? [rest('reward', wei, null)] : []
}

/** @param wei below zero: sent */
function rest(source: InternalSource, wei: bigint, hash: string | null): ToldTransfer {
  const isReceived = wei > 0n
  const sides = { direction: isReceived ? ('in' as const) : ('out' as const), counterparty: null }
  return { ...sides, source, hash, amount: isReceived ? wei : -wei, attribution: 'hint' }
}
