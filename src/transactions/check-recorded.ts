/**
 * Checks before a transaction is signed: the hash chain of its stream, its row, its wallet as recorded in the log, the
 * order of its events, what its kind may do and where it may go, its recorded bytes, the proof for every nonce recorded as
 * lost, and before the first signature the policy.
 *
 * Signers take nothing from the row, but a difference shows that somebody wrote to the database, or forged the stream without
 * its row: nothing is signed then. `evolve` accepts every event in every state, so that old logs always fold; signers accept
 * only sequences that the decider writes, so an ended transaction cannot be revived by an event that no worker would append.
 */

import type { ChainSettings } from '../chain/settings.ts'
import type { Owner } from '../core/tenants.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import { BrokenChain } from '../event-log/broken-chain.ts'
import type { Checked, Opened } from '../event-log/load-checked.ts'
import type { EventLog } from '../event-log/log.ts'
import { sameHex } from '../keys/coverage.ts'
import type { SigningWallet, SigningWalletOf } from '../wallets/signing-wallet.ts'
import { WalletUnfit } from '../wallets/wallet-facts.ts'
import { transactionAggregate } from './aggregate.ts'
import type { Intent } from './intent.ts'
import type { RulesOfKinds } from './kind-rules.ts'
import { type Lane, laneName } from './lanes.ts'
import type { ProveLost } from './prove-lost.ts'
import { type NewestEvent, type RowsOf, rowProblem } from './recorded-rows.ts'
import {
  IN_BLOCK_STATES,
  IN_FLIGHT_STATES,
  isUnmined,
  type KnownTransaction,
  newestAttempt,
  type TransactionState,
  type TransactionStateName,
} from './state.ts'
import type { TagKeys } from './tags.ts'
import { unprovenBytes } from './unproven-bytes.ts'

/** A transaction of the log, with what its first event is recorded with. */
export type RecordedOpening = Opened & {
  readonly id: string
  readonly transaction: KnownTransaction
  /** Of the stream of its tenant's policy; `null` if there is none. */
  readonly newestOfPolicy: NewestEvent | null
}

/**
 * Why the policy of the log forbids transactions, by id: those that it lets through are missing. @throws Unavailable
 */
export type PolicyProblems = (openings: readonly RecordedOpening[]) => Promise<ReadonlyMap<string, string>>

export type CheckedTransaction =
  | { readonly loaded: Loaded<TransactionState>; readonly wallet: SigningWallet; readonly problem: null }
  /** It must not be signed, and why. */
  | { readonly loaded: Loaded<TransactionState>; readonly wallet: null; readonly problem: string }

/** In the order of the ids, each once. @throws Unavailable when the log or a chain cannot be read */
export type CheckRecorded = (transactionIds: readonly string[]) => Promise<readonly CheckedTransaction[]>

/** As `CheckRecorded` says. */
export async function checkRecorded(
  ctx: {
    readonly log: Pick<EventLog, 'loadChecked'>
    readonly rowsOf: RowsOf
    readonly walletOf: SigningWalletOf
    readonly proveLost: ProveLost
    /** This process's own settings of a chain. */
    readonly settingsOf: (chainId: number) => ChainSettings | undefined
    readonly kinds: RulesOfKinds
    /** `null` for a reader that signs nothing. */
    readonly keys: TagKeys | null
    readonly policyProblems: PolicyProblems
    /** The stream with the policy of a tenant. */
    readonly policyStreamOf: (owner: Owner) => string
  },
  transactionIds: readonly string[],
): ReturnType<CheckRecorded> {
  const { log, rowsOf, walletOf, proveLost, kinds, keys, settingsOf, policyProblems, policyStreamOf } = ctx
  const checked = await log.loadChecked(transactionAggregate, transactionIds)
  // Read after the streams: a row or a policy may be newer than what was loaded, never older.
  const openings = checked.flatMap(unsigned)
  const policyOf = ({ transaction }: Pick<RecordedOpening, 'transaction'>) => policyStreamOf(transaction.intent)
  const { rows, newest } = await rowsOf(transactionIds, openings.map(policyOf))
  const forbidden = await policyProblems(
    openings.map((opening) => ({ ...opening, newestOfPolicy: newest.get(policyOf(opening)) ?? null })),
  )
  return Promise.all(
    checked.map(async ({ broken, tenantId, opened: _, ...loaded }): Promise<CheckedTransaction> => {
      const { state } = loaded
      const bad = (problem: string) => ({ loaded, wallet: null, problem })
      if (broken !== null) return bad(broken)
      if (state.state === 'unknown') return bad('the log has no such transaction')
      const { intent } = state
      if (tenantId !== intent.tenantId) return bad('its first event was recorded for a different tenant than it names')
      const problem =
        rowProblem(loaded, rows.get(loaded.id)) ??
        historyProblem(state) ??
        brokenRule(state, kinds, settingsOf(intent.chainId)) ??
        forbidden.get(loaded.id) ??
        unprovenBytes(state, loaded.id, keys)
      if (problem !== null) return bad(problem)
      const wallet = await walletOf(intent.walletId).catch(asProblem)
      if (typeof wallet === 'string') return bad(wallet)
      const foreign = walletProblem(intent, wallet) ?? (await proveLost(state, loaded.id))
      return foreign === null ? { loaded, wallet, problem: null } : bad(foreign)
    }),
  )
}

/** What may get its first signature: whatever has one was judged before that. */
function unsigned({
  id,
  state,
  broken,
  tenantId,
  opened,
}: Checked<TransactionState>): readonly Omit<RecordedOpening, 'newestOfPolicy'>[] {
  if (broken !== null || opened === null || state.state === 'unknown' || tenantId !== state.intent.tenantId) return []
  return isUnmined(state) && newestAttempt(state) === null ? [{ ...opened, id, transaction: state }] : []
}

function asProblem(error: unknown): string {
  if (error instanceof BrokenChain || error instanceof WalletUnfit) return error.message
  throw error
}

/** What its kind may be and, as a cancellation calls nothing, where anything else may go. */
function brokenRule(
  transaction: KnownTransaction,
  kinds: RulesOfKinds,
  chain: ChainSettings | undefined,
): string | null {
  const { type, intent, cancellationRequested } = transaction
  const kind = kinds.get(type)
  if (kind === undefined) return `no rule says what a transaction of type ${type} may do`
  const callsNothing = cancellationRequested || newestAttempt(transaction)?.purpose === 'cancel'
  return kind.rule(intent) ?? (callsNothing ? null : (kind.destination?.(intent, chain) ?? null))
}

function walletProblem(intent: Intent, wallet: SigningWallet): string | null {
  if (wallet.tenantId !== intent.tenantId) return `wallet ${wallet.walletId} belongs to another tenant`
  if (wallet.chainId !== intent.chainId) return `wallet ${wallet.walletId} is on chain ${wallet.chainId}`
  return sameHex(intent.from, wallet.address) ? null : `wallet ${wallet.walletId} has the address ${wallet.address}`
}

/** Called for a transaction that is not signed, with the reason. */
export type OnRefused = (transactionId: string, reason: string) => void

/** A transaction of a lane that may be signed. */
export type Sound = {
  readonly loaded: Loaded<TransactionState>
  readonly wallet: SigningWallet
  readonly transaction: KnownTransaction
}

/** The transactions of a lane that may be signed; the others are reported, and wait. */
export async function checkLane(
  { check, onRefused }: { readonly check: CheckRecorded; readonly onRefused: OnRefused },
  lane: Lane,
  transactionIds: readonly string[],
): Promise<readonly Sound[]> {
  return (await check(transactionIds)).flatMap(({ loaded, wallet, problem }): Sound[] => {
    const { state } = loaded
    const reason = problem ?? (state.state === 'unknown' ? null : foreignLane(state.intent, lane))
    if (reason !== null) onRefused(loaded.id, reason)
    return reason !== null || wallet === null || state.state === 'unknown'
      ? []
      : [{ loaded, wallet, transaction: state }]
  })
}

/** The row determines the lane; a transaction is signed there only if its events name the same chain and sender. */
function foreignLane({ chainId, from }: Intent, lane: Lane): string | null {
  if (chainId === lane.chainId && sameHex(from, lane.address)) return null
  return `its events place it in the lane ${laneName({ chainId, address: from })}`
}

const IN_BLOCK: readonly (TransactionStateName | undefined)[] = IN_BLOCK_STATES
const TAKEN_BACK: readonly TransactionStateName[] = [...IN_BLOCK_STATES, 'confirmed', 'reverted', 'cancelled']

/** What is wrong with the order of the events; `null` when it is valid. */
export function historyProblem(transaction: KnownTransaction): string | null {
  const states = transaction.history.map(({ state }) => state)
  let wasSigned = false
  for (const [place, state] of states.entries()) {
    const before = states[place - 1]
    if (state === 'signed') wasSigned = true
    if (before === undefined) continue
    if (before === 'failed' && !IN_BLOCK.includes(state)) return `it became ${state} after it had failed`
    if (state === 'requested') {
      if (!wasSigned || !(IN_FLIGHT_STATES as readonly TransactionStateName[]).includes(before))
        return 'it lost a nonce that it never had'
      wasSigned = false
    }
    if (state === 'reorged' && !wasMined(states, place)) return 'it left a block that it was never in'
  }
  if (isUnmined(transaction) && transaction.attempts.length === 0 && transaction.state !== 'requested') {
    return `it is ${transaction.state}, but its signed bytes are not recorded`
  }
  return null
}

/** In older logs a settled transaction leaves its block with the same event as one that was only mined. */
function wasMined(states: readonly TransactionStateName[], place: number): boolean {
  const before = states[place - 1]
  if (before === undefined || !TAKEN_BACK.includes(before)) return false
  return IN_BLOCK.includes(before) || IN_BLOCK.includes(states[place - 2])
}
