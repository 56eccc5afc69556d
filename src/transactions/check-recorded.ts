/**
 * Checks before a transaction is signed: the hash chain of its stream, its row, its wallet as recorded in the log, the
 * order of its events, what its kind may do, its recorded bytes, the proof for every nonce recorded as lost, the
 * contract that a swap goes to, and before the first signature the policy.
 */
import type { SwapSettings } from '../chain/settings.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import { BrokenChain } from '../event-log/broken-chain.ts'
import type { Checked, Opened } from '../event-log/load-checked.ts'
import type { EventLog } from '../event-log/log.ts'
import { sameHex } from '../keys/coverage.ts'
import type { SigningWallet, SigningWalletOf } from '../wallets/signing-wallet.ts'
import { WalletUnfit } from '../wallets/wallet-facts.ts'
import { transactionAggregate } from './aggregate.ts'
import type { Intent } from './events.ts'
import { historyProblem } from './history-check.ts'
import type { OpeningRule } from './opening-rules.ts'
import type { ProveLost } from './prove-lost.ts'
import { type RowsOf, rowProblem } from './row-check.ts'
import { isUnmined, type KnownTransaction, newestAttempt, type TransactionState } from './state.ts'
import { swapTargetProblem } from './swap-target.ts'
import type { TagKeys } from './tags.ts'
import { unprovenBytes } from './unproven-bytes.ts'

export type CheckRecordedPorts = {
  readonly log: Pick<EventLog, 'loadChecked'>
  readonly rowsOf: RowsOf
  readonly walletOf: SigningWalletOf
  readonly proveLost: ProveLost
  /** The exchanges of this process's own settings. */
  readonly swapsOf: (chainId: number) => SwapSettings | undefined
  /** By the type of the transaction. */
  readonly rules: ReadonlyMap<string, OpeningRule>
  /** `null` for a reader that signs nothing. */
  readonly keys: TagKeys | null
  readonly policyProblems: PolicyProblems
}

/** A transaction of the log, with what its first event is recorded with. */
export type RecordedOpening = Opened & { readonly id: string; readonly transaction: KnownTransaction }

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

export function createCheckRecorded(ports: CheckRecordedPorts): CheckRecorded {
  const { log, rowsOf, walletOf, proveLost, rules, keys, swapsOf, policyProblems } = ports
  return async (transactionIds) => {
    const checked = await log.loadChecked(transactionAggregate, transactionIds)
    // Read after the streams: a row or a policy may be newer than what was loaded, never older.
    const [rows, forbidden] = await Promise.all([rowsOf(transactionIds), policyProblems(checked.flatMap(unsigned))])
    return Promise.all(
      checked.map(async ({ broken, tenantId, opened: _, ...loaded }): Promise<CheckedTransaction> => {
        const { state } = loaded
        const bad = (problem: string) => ({ loaded, wallet: null, problem })
        if (broken !== null) return bad(broken)
        if (state.state === 'unknown') return bad('the log has no such transaction')
        const { intent } = state
        if (tenantId !== intent.tenantId)
          return bad('its first event was recorded for a different tenant than it names')
        const problem =
          rowProblem(loaded, rows.get(loaded.id)) ??
          historyProblem(state) ??
          brokenRule(state, rules) ??
          swapTargetProblem(state, swapsOf(intent.chainId)) ??
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
}

/** What may get its first signature: whatever has one was judged before that. */
function unsigned({ id, state, broken, tenantId, opened }: Checked<TransactionState>): readonly RecordedOpening[] {
  if (broken !== null || opened === null || state.state === 'unknown' || tenantId !== state.intent.tenantId) return []
  return isUnmined(state) && newestAttempt(state) === null ? [{ ...opened, id, transaction: state }] : []
}

function asProblem(error: unknown): string {
  if (error instanceof BrokenChain || error instanceof WalletUnfit) return error.message
  throw error
}

function brokenRule({ type, intent }: KnownTransaction, rules: CheckRecordedPorts['rules']): string | null {
  const rule = rules.get(type)
  return rule === undefined ? `no rule says what a transaction of type ${type} may do` : rule(intent)
}

function walletProblem(intent: Intent, wallet: SigningWallet): string | null {
  if (wallet.tenantId !== intent.tenantId) return `wallet ${wallet.walletId} belongs to another tenant`
  if (wallet.chainId !== intent.chainId) return `wallet ${wallet.walletId} is on chain ${wallet.chainId}`
  return sameHex(intent.from, wallet.address) ? null : `wallet ${wallet.walletId} has the address ${wallet.address}`
}
