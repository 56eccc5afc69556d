/** The parts shared by every capability that sends transactions. */
import { createResolveAsset } from '../assets/resolve-asset.ts'
import { createRequireReadable } from '../assets/unreadable.ts'
import { createCurrentPrices } from '../balances/current-prices.ts'
import { readNewestBlockMs } from '../follower/cursor.ts'
import type { FindSender } from '../transactions/prepare-transaction.ts'
import { readSpent } from '../transactions/read-spent.ts'
import { createTransactionReads, type TransactionReads } from '../transactions/read-transactions.ts'
import { createRequestTransfer, type RequestTransfer, type TransferPorts } from '../transactions/request-transfer.ts'
import type { RoomPorts } from '../transactions/spends.ts'
import { createTransferGas, type TransferGas } from '../transactions/transfer-gas.ts'
import { withAddress } from '../wallets/find-wallet.ts'
import type { ApiParts } from './api-parts.ts'
import type { Kernel } from './kernel.ts'
import { createRequireUsable } from './usable-networks.ts'

/** Block times in milliseconds: used for estimates only. */
const BLOCK_MS = { ethereum: 12_000, polygon: 2_000, binance: 750 } as const
const SANDBOX_BLOCK_MS = 1_000

export type TransactionParts = {
  readonly ports: TransferPorts
  readonly reads: TransactionReads
  /** For requests that are not appended. */
  readonly room: RoomPorts
  readonly requestTransfer: RequestTransfer
}

export function transactionParts(kernel: Kernel, parts: ApiParts): TransactionParts {
  const { pool, wakeUps, chainOf } = kernel
  const ports = transferPorts(kernel, parts)
  const confirmationsOf = (chainId: number) => chainOf(chainId).settings.confirmations
  return {
    ports,
    reads: createTransactionReads({ pool, wakeUps, confirmationsOf }),
    room: {
      readSpent: (counters, now) => readSpent(pool, counters, now),
      newestBlockMs: (chainId) => readNewestBlockMs(pool, chainId),
    },
    requestTransfer: createRequestTransfer(ports),
  }
}

/** Each chain remembers on its own what its tokens need. */
function createTransferGasOf(chainOf: Kernel['chainOf']): TransferPorts['transferGas'] {
  const chains = new Map<number, TransferGas>()
  return (chainId, transfer) => {
    const transferGas = chains.get(chainId) ?? createTransferGas(chainOf(chainId))
    chains.set(chainId, transferGas)
    return transferGas(transfer)
  }
}

function transferPorts(kernel: Kernel, { accept, books, findWallet, limitsOfKeys, policies }: ApiParts): TransferPorts {
  const { config, pool, log, clock, newId, chainOf } = kernel
  const requireUsable = createRequireUsable(kernel)
  const resolve = createResolveAsset(books)
  const pricesOf = createCurrentPrices({ pool, clock })
  const requireReadable = createRequireReadable(pool)
  const findSender: FindSender = async (owner, walletId) => withAddress(await findWallet(owner, walletId))
  return {
    log,
    accept,
    newId,
    findSender,
    async resolveAsset(asset, sender, tenantId, field) {
      const found = await resolve(tenantId, chainOf(sender.chainId).settings, asset, field)
      await requireReadable(sender.chainId, found)
      return found
    },
    hasCode: async (chainId, address) => (await chainOf(chainId).code.haveCode([address]))[0] === true,
    async quoteOf(chainId) {
      await requireUsable(chainId)
      return chainOf(chainId).fees.quote()
    },
    limitsOf: limitsOfKeys.of,
    judgeTransaction: policies.judge.transaction,
    isJudged: policies.judge.isActive,
    async usdPriceOf(tenantId, chainId, assetId) {
      const asset = (await books.open(tenantId, chainOf(chainId).settings)).byId(assetId)
      // A registered token may have any symbol; and a price that is no more current would let more be spent than the limit.
      if (asset === undefined || asset.source === 'registered') return null
      return (await pricesOf(chainId)).get(asset.symbol)?.usd ?? null
    },
    gasRules: (chainId) => chainOf(chainId).forks.rules(),
    transferGas: createTransferGasOf(chainOf),
    completionMs(chainId) {
      const { network, confirmations } = chainOf(chainId).settings
      return (confirmations + 1) * (config.sandbox ? SANDBOX_BLOCK_MS : BLOCK_MS[network])
    },
  }
}
