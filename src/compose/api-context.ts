/**
 * The context of the API process: what requests need of more than one capability, made once. What keeps state between requests
 * (the books of assets, the facts of wallets, the gas of tokens, the limits of keys, the policies) is made here and nowhere else.
 */
import { PrismaPg } from '@prisma/adapter-pg'
import { findHolders } from '../access/find-holders.ts'
import { createKeyGate } from '../access/key-gate.ts'
import { createLimitsOfKeys } from '../access/limits-of-keys.ts'
import { createLimitReports } from '../access/report-limits.ts'
import type { ApiContext } from '../api-context.ts'
import { type AssetBooks, createAssetBooks } from '../assets/asset-books.ts'
import { readAssetPrices } from '../assets/asset-prices.ts'
import { describeAsset } from '../assets/describe-asset.ts'
import { resolveAsset } from '../assets/resolve-asset.ts'
import { createRequireReadable } from '../assets/unreadable.ts'
import { availableOf } from '../balances/available.ts'
import { createBalanceChains } from '../balances/chain.ts'
import { createCurrentPrices } from '../balances/current-prices.ts'
import { findPositive } from '../balances/find-balances.ts'
import { nativeAsset } from '../core/assets.ts'
import { onceEach } from '../core/once-each.ts'
import { usdValue } from '../core/usd-value.ts'
import { createAccept, findReplay } from '../event-log/accept.ts'
import { readNewestBlockMs } from '../follower/cursor.ts'
import { PrismaClient } from '../generated/prisma/client.ts'
import type { ManagedContracts } from '../transactions/managed-contracts.ts'
import { readSpent } from '../transactions/read-spent.ts'
import { createTransactionReads } from '../transactions/read-transactions.ts'
import type { SendContext } from '../transactions/send-context.ts'
import { createTransferGas } from '../transactions/transfer-gas.ts'
import { createFindWallet, withAddress } from '../wallets/find-wallet.ts'
import { createWaitForBatch, createWaitForWallet } from '../wallets/wait-for-wallet.ts'
import { CAPABILITIES, PAST } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { assetOfOwner } from './policy-assets.ts'
import { policyParts } from './policy-parts.ts'
import { createRequireUsable } from './usable-networks.ts'

/** Block times in milliseconds: used for estimates only. */
const BLOCK_MS = { ethereum: 12_000, polygon: 2_000, binance: 750 } as const
const SANDBOX_BLOCK_MS = 1_000

/** With what the process does when it ends: what is recorded late is recorded. */
export type ComposedApi = ApiContext & {
  readonly policies: ReturnType<typeof policyParts>
  readonly flush: () => Promise<void>
}

export function createApiContext(kernel: Kernel): ComposedApi {
  const { config, log, logger, metrics, pool, wakeUps, newId, chainOf } = kernel
  const books = createAssetBooks(pool)
  const policies = policyParts(kernel, books)
  const limitsOfKeys = createLimitsOfKeys(log)
  const limitReports = createLimitReports({
    log,
    onRefusal: () => metrics.count('bursar_api_key_refusals_total', { reason: 'limit' }),
    onError: (error, keyId) =>
      logger.warn({ err: error, key_id: keyId }, 'cannot record that a limit of an API key was reached; will retry'),
  })
  const keyGate = createKeyGate({ ...kernel, limitsOfKeys, limitReports })
  const findWallet = createFindWallet(pool)
  return {
    ...kernel,
    ...sendingParts(kernel, books),
    ...managedBy(kernel),
    ...callParts(kernel, books),
    books,
    policies,
    past: { pool, source: PAST, chains: config.chains },
    assetOf: (owner, assetId) => assetOfOwner({ ...kernel, books }, owner, assetId),
    publishersOf: (owner) => findHolders(pool, owner, 'policies:publish'),
    forgetPolicies: policies.inForce.forget,
    judge: policies.judge,
    judgeTransaction: policies.judge.transaction,
    isJudged: policies.judge.isActive,
    limitsOf: limitsOfKeys.of,
    limitsOfKeys,
    limitReports,
    keyGate,
    flush: async () =>
      void (await Promise.all([keyGate.close(), limitReports.close(), policies.denialReports.close()])),
    accept: limitReports.reporting(policies.denialReports.deciding(createAccept({ log, pool, newId }))),
    findReplay: (metadata) => findReplay(pool, metadata),
    findWallet,
    findSender: async (owner, walletId) => withAddress(await findWallet(owner, walletId)),
    transactions: createTransactionReads({
      pool,
      wakeUps,
      confirmationsOf: (chainId) => chainOf(chainId).settings.confirmations,
    }),
    positiveBalances: (walletId) => findPositive(pool, walletId),
    describeAsset: ({ tenantId, chainId }, assetId) =>
      describeAsset({ books }, tenantId, chainOf(chainId).settings, assetId),
    waitForWallet: createWaitForWallet(kernel),
    waitForBatch: createWaitForBatch(kernel),
    balanceChainOf: createBalanceChains(kernel.chains.all),
    assetNamed: ({ tenantId, chainId }, name) => resolveAsset({ books }, tenantId, chainOf(chainId).settings, name),
    assetsOf: async ({ tenantId, chainId }) => (await books.open(tenantId, chainOf(chainId).settings)).all,
    prisma: new PrismaClient({ adapter: new PrismaPg(pool) }),
  }
}

/** What transactions need to know of assets, prices and chains. */
function sendingParts(
  kernel: Kernel,
  books: AssetBooks,
): Pick<
  SendContext,
  | 'resolveAsset'
  | 'quoteOf'
  | 'usdPriceOf'
  | 'usdOf'
  | 'gasRules'
  | 'transferGas'
  | 'completionMs'
  | 'availableOf'
  | 'readSpent'
  | 'newestBlockMs'
> {
  const { config, pool, clock, chainOf } = kernel
  const requireUsable = createRequireUsable(kernel)
  const pricesOf = createCurrentPrices({ pool, clock })
  const requireReadable = createRequireReadable(pool)
  // Each chain remembers on its own what its tokens need.
  const transferGasOf = onceEach((chainId: number) => createTransferGas(chainOf(chainId)))
  return {
    async resolveAsset(asset, sender, tenantId, field) {
      const found = await resolveAsset({ books }, tenantId, chainOf(sender.chainId).settings, asset, field)
      await requireReadable(sender.chainId, found)
      return found
    },
    async quoteOf(chainId) {
      await requireUsable(chainId)
      return chainOf(chainId).fees.quote()
    },
    async usdPriceOf(tenantId, chainId, assetId) {
      const asset = (await books.open(tenantId, chainOf(chainId).settings)).byId(assetId)
      // A registered token may have any symbol; and a price that is no more current would let more be spent than the limit.
      if (asset === undefined || asset.source === 'registered') return null
      return (await pricesOf(chainId)).get(asset.symbol)?.usd ?? null
    },
    async usdOf({ network, chainId }, wei) {
      const native = nativeAsset(network, chainId)
      const priceOf = await readAssetPrices(pool, [chainId])
      const price = priceOf(chainId, { ...native, name: native.symbol, source: 'native' })
      return usdValue(wei, native.decimals, price?.usd ?? null)
    },
    gasRules: (chainId) => chainOf(chainId).forks.rules(),
    transferGas: (chainId, transfer) => transferGasOf(chainId)(transfer),
    completionMs(chainId) {
      const { network, confirmations } = chainOf(chainId).settings
      return (confirmations + 1) * (config.sandbox ? SANDBOX_BLOCK_MS : BLOCK_MS[network])
    },
    availableOf: (...of) => availableOf(kernel, ...of),
    readSpent: (counters, now) => readSpent(pool, counters, now),
    newestBlockMs: (chainId) => readNewestBlockMs(pool, chainId),
  }
}

/** What the capabilities manage: none calls what another one does. */
function managedBy({ pool }: Kernel): ManagedContracts {
  const all = CAPABILITIES.flatMap(({ manages }) => manages?.(pool) ?? [])
  const isAny = async (answers: readonly Promise<boolean>[]) => (await Promise.all(answers)).includes(true)
  return {
    isManaged: (...asked) => isAny(all.map(({ isManaged }) => isManaged(...asked))),
    isManagedCall: (...asked) => isAny(all.map(({ isManagedCall }) => isManagedCall(...asked))),
    tokensInTransfer: async (wallet) =>
      (await Promise.all(all.map(({ tokensInTransfer }) => tokensInTransfer(wallet)))).flat(),
  }
}

/** What a contract call needs to know of tokens. */
function callParts({ chainOf }: Kernel, books: AssetBooks) {
  return {
    async tokensOf(tenantId: string, { chainId }: { readonly chainId: number }) {
      const { all } = await books.open(tenantId, chainOf(chainId).settings)
      return all.filter(({ contract }) => contract !== null)
    },
  }
}
