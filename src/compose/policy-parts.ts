/** Judging in the API: where its facts come from, and what becomes of what it refuses. */
import type { AssetBooks } from '../assets/asset-books.ts'
import { type CurrentPrices, createCurrentPrices } from '../balances/current-prices.ts'
import { toChecksumAddress } from '../chain/address.ts'
import { gathering } from '../core/gathering.ts'
import { roomIn } from '../core/spend-limits.ts'
import { remembering } from '../event-log/remembered.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { CompiledPolicy } from '../policies/compile.ts'
import type { RuleReservation } from '../policies/count-limit.ts'
import type { Price } from '../policies/intent.ts'
import { createJudge, type ShadowVerdict } from '../policies/judge.ts'
import type { FactSources } from '../policies/judged-now.ts'
import { createPoliciesInForce } from '../policies/policies-in-force.ts'
import { createCountRefusal, createDenialReports } from '../policies/report-denials.ts'
import { readSpent } from '../transactions/read-spent.ts'
import { OWN_ADDRESSES, TAGS_OF_WALLETS } from '../wallets/sql.ts'
import { CAPABILITIES, JUDGED_KINDS, spendersOf } from './capabilities.ts'
import type { Kernel } from './kernel.ts'

/** Facts of a second ago; of tags, the append finds a change since. */
const REMEMBER_MS = 1_000
const MAX_REMEMBERED = 10_000

export function policyParts(kernel: Kernel, books: AssetBooks) {
  const { log, logger, metrics, pool } = kernel
  const inForce = createPoliciesInForce(pool)
  const tags = createTags(kernel)
  const facts = { ...factSources(kernel, books), tagsOf: tags.of }
  const judge = createJudge({ ...facts, kinds: JUDGED_KINDS, inForce: inForce.of })
  /** As if this were in force as a shadow, whatever is. */
  const judgeBy = (shadow: CompiledPolicy) =>
    createJudge({ ...facts, kinds: JUDGED_KINDS, inForce: async () => ({ active: null, shadow, isSeeded: true }) })
  const countRefusal = createCountRefusal(metrics)
  const denialReports = createDenialReports({
    log,
    shadowed: judge.shadowed,
    forget(owner) {
      metrics.count('bursar_policy_rejudged_total', {})
      inForce.forget(owner)
      tags.forget()
    },
    fullRuleOf: createFullRuleOf(kernel),
    onRefusal(denial, { tenantId }) {
      countRefusal(denial)
      const { environment, version, shadow, rule, reason, apiKey, walletId } = denial
      const fields = { tenant_id: tenantId, environment, version, rule, reason, key_id: apiKey, wallet_id: walletId }
      logger.info(fields, shadow ? 'the shadow of a policy would refuse a request' : 'a policy refused a request')
    },
    onError: (error) => logger.warn({ err: error }, 'cannot record what a policy refused; will retry'),
  })
  return { inForce, judge, judgeBy, denialReports }
}

function factSources({ pool, clock, chains, chainOf }: Kernel, books: AssetBooks): Omit<FactSources, 'tagsOf'> {
  const pricesOf = createCurrentPrices({ pool, clock })
  const remembered = remembering<Awaited<ReturnType<CurrentPrices>>>({ most: MAX_REMEMBERED, ms: REMEMBER_MS })
  const spenders = new Map<number, ReadonlySet<string>>()
  return {
    async assetsOf(tenantId, chainId) {
      const book = await books.open(tenantId, chainOf(chainId).settings)
      const prices = await remembered.of(`${chainId}`, () => pricesOf(chainId))
      return {
        tokenOf: (contract) => book.byContract(toChecksumAddress(contract)) ?? null,
        priceOf(assetId): Price | null {
          const asset = book.byId(assetId)
          // A registered token may have any symbol.
          return asset === undefined || asset.source === 'registered' ? null : (prices.get(asset.symbol) ?? null)
        },
      }
    },
    ownAmong: createOwnAmong({ pool, chains }),
    collectionsAmong: async (...asked) =>
      new Set(
        (await Promise.all(CAPABILITIES.map(({ collections }) => collections?.among(pool, ...asked) ?? []))).flat(),
      ),
    isOwnSpender(chainId, address) {
      const known = spenders.get(chainId) ?? lowerSet(spendersOf(chainOf(chainId).settings))
      spenders.set(chainId, known)
      return known.has(address)
    },
  }
}

function lowerSet(texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.map((text) => text.toLowerCase()))
}

/** The tags of wallets; those of one turn of the event loop in one query. */
function createTags({ pool }: Pick<Kernel, 'pool'>) {
  const known = remembering<readonly string[]>({ most: MAX_REMEMBERED, ms: REMEMBER_MS })
  const ask = gathering<string, readonly string[]>(async (walletIds) => {
    const { rows } = await pool.query<Pick<Row<'wallets'>, 'wallet_id' | 'tags'>>({
      name: 'tags_of_wallets',
      text: TAGS_OF_WALLETS,
      values: [walletIds],
    })
    const tags = new Map(rows.map((row) => [row.wallet_id, row.tags]))
    return walletIds.map((walletId) => tags.get(walletId) ?? [])
  })
  return {
    of: (walletId: string) => known.of(walletId, async () => (await ask([walletId]))[0] ?? []),
    forget: known.forgetAll,
  }
}

type OwnRow = Pick<Row<'wallets', { readonly address: string }>, 'tenant_id' | 'environment' | 'address'>

function createOwnAmong({ pool, chains }: Pick<Kernel, 'pool' | 'chains'>): FactSources['ownAmong'] {
  const chainIds = chains.all.map(({ settings }) => settings.chainId)
  const ask = gathering<readonly [owner: string, address: string], boolean>(async (asked) => {
    const { rows } = await pool.query<OwnRow>({
      name: 'own_addresses',
      text: OWN_ADDRESSES,
      values: [chainIds, [...new Set(asked.map(([, address]) => address))]],
    })
    const own = new Set(rows.map((row) => `${row.tenant_id} ${row.environment} ${row.address}`))
    return asked.map(([owner, address]) => own.has(`${owner} ${address}`))
  })
  return async ({ tenantId, environment }, addresses) => {
    const answers = await ask(addresses.map((address) => [`${tenantId} ${environment}`, address]))
    return new Set(addresses.filter((_, n) => answers[n]))
  }
}

/** A shadow refuses nothing, so it counts also what it would have refused. */
function createFullRuleOf({ pool, log }: Pick<Kernel, 'pool' | 'log'>) {
  const isOver = gathering<RuleReservation, boolean>(async (reservations) => {
    const now = log.now()
    const spent = await readSpent(pool, reservations, now)
    return reservations.map(({ counter, windowSeconds, limit }) => {
      const most = { amount: `${limit + 1n}`, windowSeconds }
      return roomIn(most, spent.get(counter) ?? [], { needed: 0n, now }).left === 0n
    })
  })
  return async ({ decision: { reservations } }: ShadowVerdict): Promise<string | null> => {
    const over = await isOver(reservations)
    return reservations.find((_, n) => over[n])?.rule ?? null
  }
}
