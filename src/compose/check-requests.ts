/** Whether recorded requests are as the policy of the log says, for signers, parties and operators: where its facts are read. */
import { assetAggregate, assetStreamId } from '../assets/aggregate.ts'
import type { AssetEvent } from '../assets/events.ts'
import { toChecksumAddress } from '../chain/address.ts'
import { tokenAsset } from '../core/assets.ts'
import { gathering } from '../core/gathering.ts'
import type { Owner } from '../core/tenants.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import type { Row } from '../event-log/table-rows.ts'
import { type CheckRequests, type CountedSpends, checkRequests } from '../policies/check-requests.ts'
import { createLogClock, type LogClock } from '../policies/log-clock.ts'
import { type Changes, type LogFacts, trueFromOpening } from '../policies/log-facts.ts'
import { createRecordedPolicies } from '../policies/recorded-policies.ts'
import type { AssetRef } from '../transactions/intent.ts'
import { readBuckets } from '../transactions/read-spent.ts'
import { walletAggregate } from '../wallets/aggregate.ts'
import type { WalletEvent } from '../wallets/events.ts'
import { WALLETS } from '../wallets/sql.ts'
import { CAPABILITIES, spendersOf } from './capabilities.ts'
import type { Kernel } from './kernel.ts'

/**
 * @param options.counts whether this process may read what the append has counted
 * @param options.onMismatches called with the number of requests that are not as the policy says
 */
export function composeCheckRequests(
  parts: Pick<Kernel, 'log' | 'pool' | 'chains' | 'clock'>,
  {
    counts,
    times = null,
    onMismatches = () => undefined,
  }: {
    readonly counts: boolean
    readonly times?: LogClock | null
    readonly onMismatches?: (requests: number) => void
  },
): CheckRequests {
  const { pool, clock } = parts
  const spentIn = gathering((buckets: Parameters<CountedSpends['spentIn']>[0]) => readBuckets(pool, buckets), {
    isShared: isConnectionFailure,
  })
  const counted = counts ? { spentIn, clock } : null
  const ctx = { policies: createRecordedPolicies(pool), facts: factSources(parts), counted, times }
  return async (requests) => {
    const problems = await checkRequests(ctx, requests)
    onMismatches(problems.size)
    return problems
  }
}

/** Notes the newest position of the log at once, and then every minute. */
export async function startLogClock({ pool, clock, logger }: Kernel, signal: AbortSignal): Promise<LogClock> {
  const times = createLogClock(pool, clock)
  await times.note()
  const timer = setInterval(() => {
    times.note().catch((error: unknown) => logger.warn({ err: error }, 'cannot read the newest position; will retry'))
  }, NOTED_EVERY_MS).unref()
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  return times
}

const NOTED_EVERY_MS = 60_000

function factSources(parts: Pick<Kernel, 'log' | 'pool' | 'chains'>): LogFacts {
  const { log, chains } = parts
  return {
    async tagsOf(walletId) {
      const { events } = await log.readSound<WalletEvent>(walletAggregate, walletId)
      return events.flatMap(({ type, data, position, recordedAt: at }) =>
        type === 'WalletTagged' ? [{ position, at, value: data.tags }] : [],
      )
    },
    async tokenOf(tenantId, chainId, contract) {
      const address = toChecksumAddress(contract)
      const found = chains.byChainId(chainId)?.settings.tokens.find((token) => token.address === address)
      if (found !== undefined) return always(tokenAsset(chainId, address, found.symbol, found.decimals))
      const { assetId } = tokenAsset(chainId, address, '', 0)
      const { events } = await log.readSound<AssetEvent>(assetAggregate, assetStreamId(tenantId, assetId))
      return events.map(({ type, data, position, recordedAt: at }) => {
        const value = type === 'AssetRegistered' ? tokenAsset(chainId, address, data.symbol, data.decimals) : null
        return { position, at, value } satisfies Changes<AssetRef | null>[number]
      })
    },
    isOwn: ownWallets(parts),
    isCollection: async (...asked) =>
      (await Promise.all(CAPABILITIES.map(({ collections }) => collections?.recorded(parts, ...asked) ?? []))).flat(),
    isOwnSpender(chainId, address) {
      const chain = chains.byChainId(chainId)
      const spenders = chain === undefined ? [] : spendersOf(chain.settings)
      return spenders.some((spender) => spender.toLowerCase() === address)
    },
  }
}

/** What the settings say was never otherwise. */
function always<Value>(value: Value): Changes<Value> {
  return [{ position: -1n, at: '', value }]
}

function ownWallets({ pool, log, chains }: Pick<Kernel, 'log' | 'pool' | 'chains'>): LogFacts['isOwn'] {
  const chainIds = chains.all.map(({ settings }) => settings.chainId)
  type Wanted = Owner & { readonly address: string }
  const read = gathering(
    async (wanted: readonly Wanted[]) => {
      const { rows } = await pool.query<Pick<Row<'wallets'>, 'wallet_id'> & { readonly n: string }>({
        name: 'wallets_of_addresses',
        text: `SELECT w.wallet_id, k.n FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k(tenant_id, environment, address, n)
                CROSS JOIN LATERAL (SELECT wallet_id FROM ${WALLETS} AS wallets
                  WHERE chain_id = ANY ($4) AND lower(address) = k.address AND tenant_id = k.tenant_id AND environment = k.environment
                    AND key_ref IS NOT NULL OFFSET 0) AS w`,
        values: [
          wanted.map(({ tenantId }) => tenantId),
          wanted.map(({ environment }) => environment),
          wanted.map(({ address }) => address),
          chainIds,
        ],
      })
      // The rows only locate the streams.
      const ids = [...new Set(rows.map(({ wallet_id }) => wallet_id))]
      const loaded = new Map((await log.loadChecked(walletAggregate, ids)).map((one) => [one.id, one]))
      return wanted.map(({ tenantId, environment, address }, index) =>
        trueFromOpening(
          rows.flatMap(({ wallet_id, n }) => {
            const wallet = Number(n) === index + 1 ? loaded.get(wallet_id) : undefined
            if (wallet === undefined || wallet.state.status === 'unknown') return []
            const { state, tenantId: owner } = wallet
            // Without a key its address is what the request of the wallet says.
            const isIt = owner === tenantId && state.environment === environment && state.key !== null
            return isIt && state.address?.toLowerCase() === address ? [wallet] : []
          }),
        ),
      )
    },
    { isShared: isConnectionFailure },
  )
  return async (owner, address) => (await read([{ ...owner, address }]))[0] ?? []
}
