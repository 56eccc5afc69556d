/**
 * The transfers of blocks that moved value to or from wallets. Pure: the wallets among the touched addresses were looked
 * up before.
 *
 * Left out: amounts of zero and tokens that the tenant does not know, with which strangers write addresses into the
 * history of a wallet (address poisoning); transfers of an address to itself; currency that contracts send, which logs
 * do not show.
 */
import type { Block, BlockTransaction, ChainLogEntry } from '../chain/blocks.ts'
import { parseTransferLog } from '../chain/erc20.ts'
import type { Asset } from '../core/assets.ts'
import type { WalletType } from '../wallets/events.ts'
import type { Direction } from './events.ts'

/** A wallet whose address was touched, with an asset that its tenant knows. */
export type TouchedWallet = {
  readonly walletId: string
  readonly tenantId: string
  readonly address: string
  readonly asset: Asset
  readonly type: WalletType
  /** It is on another chain, and its key has no wallet on this one. */
  readonly isUnopened: boolean
}

/** A transaction that Bursar sent, with the asset whose movement its own record shows. */
export type OwnTransaction = { readonly id: string; readonly assetId: string }

export type FoundTransfer<Wallet extends TouchedWallet> = {
  readonly wallet: Wallet
  readonly direction: Direction
  readonly block: Block
  readonly hash: string
  readonly logIndex: number | null
  readonly logOfTransaction: number | null
  /** In lower case. */
  readonly counterparty: string | null
  /** Base units, above zero. */
  readonly amount: bigint
  readonly transactionId: string | null
}

type Move = {
  readonly from: string
  readonly to: string | null
  readonly contract: string | null
  readonly amount: bigint
  readonly logIndex: number | null
  readonly logOfTransaction: number | null
}

/**
 * In the order of the chain.
 *
 * @param touched each wallet once for an asset
 * @param own by hash
 */
export function transfersIn<Wallet extends TouchedWallet>(
  blocks: readonly Block[],
  touched: readonly Wallet[],
  own: ReadonlyMap<string, OwnTransaction>,
): FoundTransfer<Wallet>[] {
  if (touched.length === 0) return []
  const wallets = byHolding(touched)
  const isTouched = touchedLogs(touched)
  return blocks.flatMap((block) =>
    block.transactions.flatMap((transaction) =>
      movesOf(transaction, isTouched).flatMap((move) =>
        sidesOf(move).flatMap(({ direction, address, counterparty }) =>
          (wallets.get(holding(address, move.contract)) ?? []).flatMap((wallet): FoundTransfer<Wallet>[] => {
            // What another program sends with the key there is not of a wallet here.
            if (direction === 'out' && wallet.isUnopened) return []
            const sent = ownOf(wallet, transaction, own)
            // The transaction's own record says it.
            if (direction === 'out' && sent?.assetId === wallet.asset.assetId) return []
            const { amount, logIndex, logOfTransaction } = move
            const { hash } = transaction
            const found = { wallet, direction, block, hash, logIndex, logOfTransaction, counterparty, amount }
            return [{ ...found, transactionId: sent?.id ?? null }]
          }),
        ),
      ),
    ),
  )
}

function movesOf(
  { from, to, value, status, logs }: BlockTransaction,
  isTouched: (log: ChainLogEntry) => boolean,
): Move[] {
  if (status !== 'success') return []
  const native = { from, to, contract: null, amount: value, logIndex: null, logOfTransaction: null }
  const moves = logs.flatMap((log, logOfTransaction): Move[] => {
    const transfer = isTouched(log) ? parseTransferLog(log) : null
    if (transfer === null) return []
    const { value: amount, ...sides } = transfer
    return [{ ...sides, contract: log.address, amount, logIndex: log.logIndex, logOfTransaction }]
  })
  return [native, ...moves].filter((move) => move.amount > 0n && move.from !== move.to)
}

/** Digits of an address, at the end of a topic. */
const ADDRESS_DIGITS = 40

/** Whether a log names a touched address and its token: parsing costs ten times as much as this look. */
function touchedLogs(touched: readonly TouchedWallet[]): (log: ChainLogEntry) => boolean {
  const contracts = new Set(touched.flatMap(({ asset: { contract } }) => contract?.toLowerCase() ?? []))
  const addresses = new Set(touched.map(({ address }) => address.slice(-ADDRESS_DIGITS).toLowerCase()))
  return ({ address, topics }) =>
    contracts.has(address) && topics.some((topic) => addresses.has(topic.slice(-ADDRESS_DIGITS)))
}

function sidesOf({ from, to }: Move) {
  const out = { direction: 'out' as const, address: from, counterparty: to }
  return to === null ? [out] : [out, { direction: 'in' as const, address: to, counterparty: from }]
}

function ownOf(
  { address, type }: TouchedWallet,
  { from, hash }: BlockTransaction,
  own: ReadonlyMap<string, OwnTransaction>,
): OwnTransaction | undefined {
  return type === 'watch' || from !== address.toLowerCase() ? undefined : own.get(hash)
}

function byHolding<Wallet extends TouchedWallet>(touched: readonly Wallet[]): ReadonlyMap<string, readonly Wallet[]> {
  const wallets = new Map<string, Wallet[]>()
  for (const wallet of touched) {
    const key = holding(wallet.address.toLowerCase(), wallet.asset.contract)
    const others = wallets.get(key)
    if (others === undefined) wallets.set(key, [wallet])
    else others.push(wallet)
  }
  return wallets
}

function holding(address: string, contract: string | null): string {
  return `${address} ${contract?.toLowerCase() ?? ''}`
}
