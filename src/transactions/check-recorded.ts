/**
 * Checks before a transaction is signed: the hash chain of its stream, its row, its wallet as recorded in the log, the
 * order of its events, what its kind may do, its recorded bytes, the proof for every nonce recorded as lost, and the
 * contract that a swap goes to.
 */
import type { SwapSettings } from '../chain/settings.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import { BrokenChain } from '../event-log/broken-chain.ts'
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
import type { KnownTransaction, TransactionState } from './state.ts'
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
}

export type CheckedTransaction =
  | { readonly loaded: Loaded<TransactionState>; readonly wallet: SigningWallet; readonly problem: null }
  /** It must not be signed, and why. */
  | { readonly loaded: Loaded<TransactionState>; readonly wallet: null; readonly problem: string }

/** In the order of the ids, each once. @throws Unavailable when the log or a chain cannot be read */
export type CheckRecorded = (transactionIds: readonly string[]) => Promise<readonly CheckedTransaction[]>

export function createCheckRecorded(ports: CheckRecordedPorts): CheckRecorded {
  const { log, rowsOf, walletOf, proveLost, rules, keys, swapsOf } = ports
  return async (transactionIds) => {
    const checked = await log.loadChecked(transactionAggregate, transactionIds)
    // Read after the streams: a row may be newer than what was loaded, never older.
    const rows = await rowsOf(transactionIds)
    return Promise.all(
      checked.map(async ({ broken, tenantId, ...loaded }): Promise<CheckedTransaction> => {
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
