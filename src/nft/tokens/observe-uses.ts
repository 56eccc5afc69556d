/**
 * What blocks did with the token ids of vouchers: a mint or a revocation, by the log of the collection's contract, whoever sent
 * the transaction. The follower commits it together with its cursor.
 */
import type { Pool } from 'pg'
import { toChecksumAddress } from '../../chain/address.ts'
import type { Block, ChainLogEntry } from '../../chain/blocks.ts'
import { wordAt } from '../../chain/hex.ts'
import type { Context } from '../../context.ts'
import { type Decision, decideOn, notHeld } from '../../event-log/aggregate.ts'
import type { EventLog } from '../../event-log/log.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import { parseNftTransferLog, VOUCHER_REVOKED_TOPIC } from '../contracts/logs.ts'
import { mintAggregate } from './mint-aggregate.ts'
import type { VoucherCommand } from './mint-decider.ts'
import type { VoucherUse } from './mint-events.ts'
import type { MintState } from './mint-state.ts'

/** A use of an id of a collection. */
export type FoundUse = Omit<VoucherUse, 'transactionId'> & {
  /** Lower case. */
  readonly contract: string
  readonly tokenId: string
}

const ZERO_ADDRESS = `0x${'00'.repeat(20)}`
/** The sender of a mint, as a topic. */
const ZERO_WORD = `0x${'00'.repeat(32)}`
/** Ids of the service have 48 bits. */
const MAX_TOKEN_ID = 2n ** 48n

/** @param blocks consecutive, oldest first */
export async function observeUses(
  ctx: Pick<Context, 'pool' | 'log'>,
  chainId: number,
  blocks: readonly Block[],
): Promise<Decision[]> {
  const contracts = await findCollections(ctx.pool, chainId, contractsUsing(blocks))
  const uses = contracts.size === 0 ? [] : usesIn(blocks, contracts)
  if (uses.length === 0) return []
  const found = await findVouchers(ctx.pool, chainId, uses)
  const { now } = ctx.log
  return decideEach(ctx, [...found.keys()], (id) => {
    const use = found.get(id)
    return use === undefined ? null : { type: 'RecordUse', use, now: now() }
  })
}

/** Undoes the uses above the newest block that is still on the chain. */
export async function unwindUses(
  ctx: Pick<Context, 'pool' | 'log'>,
  chainId: number,
  ancestorNumber: number,
): Promise<Decision[]> {
  const { rows } = await ctx.pool.query<Pick<Row<'nft_vouchers'>, 'mint_id'>>({
    name: 'vouchers_used_above',
    text: 'SELECT mint_id FROM nft_vouchers WHERE chain_id = $1 AND used_block > $2 ORDER BY mint_id',
    values: [chainId, ancestorNumber],
  })
  const now = ctx.log.now()
  return decideEach(
    ctx,
    rows.map(({ mint_id }) => mint_id),
    () => ({ type: 'RecordUseReorg', ancestorNumber, now }),
  )
}

/** Contracts with logs like those of a use, in lower case: any contract may log any number of them. Pure. */
function contractsUsing(blocks: readonly Block[]): string[] {
  const found = new Set<string>()
  for (const { transactions } of blocks)
    for (const { logs } of transactions)
      for (const { address, topics } of logs)
        if (topics[0] === VOUCHER_REVOKED_TOPIC || topics.some((topic) => topic === ZERO_WORD)) found.add(address)
  return [...found]
}

/** Those that are collections. */
async function findCollections(
  pool: Pool,
  chainId: number,
  contracts: readonly string[],
): Promise<ReadonlySet<string>> {
  if (contracts.length === 0) return new Set()
  const { rows } = await pool.query<{ contract: string }>({
    name: 'collections_of_uses',
    text: `SELECT lower(contract_address) AS contract FROM nft_collections
            WHERE chain_id = $1 AND lower(contract_address) = ANY ($2)`,
    values: [chainId, contracts],
  })
  return new Set(rows.map(({ contract }) => contract))
}

/** Mints and revocations by these contracts, in log order. Pure. @param contracts lower case */
export function usesIn(blocks: readonly Block[], contracts: ReadonlySet<string>): readonly FoundUse[] {
  return blocks.flatMap(({ number: blockNumber, hash: blockHash, transactions }) =>
    transactions.flatMap(({ hash, logs }) =>
      logs.flatMap((log) => {
        if (!contracts.has(log.address)) return []
        const place = { hash, blockNumber, blockHash, contract: log.address }
        return usedBy(log)
          .filter(({ tokenId }) => tokenId < MAX_TOKEN_ID)
          .map(({ tokenId, recipient }): FoundUse => {
            const as = recipient === null ? 'revoked' : 'minted'
            return { ...place, as, recipient, tokenId: tokenId.toString() }
          })
      }),
    ),
  )
}

function usedBy(log: ChainLogEntry): readonly { readonly tokenId: bigint; readonly recipient: string | null }[] {
  const { topics } = log
  if (topics[0] === VOUCHER_REVOKED_TOPIC) {
    const tokenId = topics.length === 2 ? wordAt(topics[1] ?? '', 0) : null
    return tokenId === null ? [] : [{ tokenId, recipient: null }]
  }
  const moved = parseNftTransferLog(log)
  if (moved === null || moved.from !== ZERO_ADDRESS || moved.to === ZERO_ADDRESS) return []
  const recipient = toChecksumAddress(moved.to)
  return moved.tokens.filter(({ amount }) => amount > 0n).map(({ tokenId }) => ({ tokenId, recipient }))
}

/** The first use of each voucher, by its mint, with the own transaction that made it. */
async function findVouchers(
  pool: Pool,
  chainId: number,
  uses: readonly FoundUse[],
): Promise<ReadonlyMap<string, VoucherUse>> {
  const { rows } = await pool.query<Pick<Row<'nft_vouchers'>, 'mint_id'> & { n: string; own: string | null }>({
    name: 'vouchers_of_uses',
    // LATERAL with OFFSET: one index lookup for each, whatever the statistics of a fast growing table say.
    text: `SELECT v.mint_id, used.n, own.transaction_id AS own
             FROM unnest($2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY AS used(contract, token_id, hash, n)
            CROSS JOIN LATERAL (SELECT collection_id FROM nft_collections
                  WHERE chain_id = $1 AND lower(contract_address) = used.contract OFFSET 0) AS c
            CROSS JOIN LATERAL (SELECT mint_id FROM nft_tokens
                  WHERE collection_id = c.collection_id AND token_id = used.token_id OFFSET 0) AS t
             JOIN nft_vouchers v ON v.mint_id = t.mint_id
             LEFT JOIN LATERAL (SELECT x.transaction_id FROM ${TRANSACTIONS} x
                  WHERE x.subject_type = 'mint' AND x.subject_id = v.mint_id AND x.hashes::jsonb ? used.hash LIMIT 1) AS own ON true
            ORDER BY used.n`,
    values: [
      chainId,
      uses.map(({ contract }) => contract),
      uses.map(({ tokenId }) => tokenId),
      uses.map(({ hash }) => hash),
    ],
  })
  const found = new Map<string, VoucherUse>()
  for (const { mint_id, n, own } of rows) {
    const use = uses[Number(n) - 1]
    if (use === undefined || found.has(mint_id)) continue
    const { contract: _, tokenId: __, ...rest } = use
    found.set(mint_id, { ...rest, transactionId: own })
  }
  return found
}

/** The decisions on these mints; a mint whose log is held has none. */
export async function decideEach(
  { log }: { readonly log: Pick<EventLog, 'loadMany' | 'now'> },
  ids: readonly string[],
  commandOf: (id: string) => VoucherCommand | null,
): Promise<Decision[]> {
  if (ids.length === 0) return []
  return notHeld(await log.loadMany(mintAggregate, ids)).flatMap((loaded) => {
    const { state, id } = loaded
    const command = commandOf(id)
    if (command === null || state.state === 'unknown' || state.voucher === null) return []
    return decideOn(mintAggregate, loaded, command, { metadata: metadataOf(state), now: log.now() }) ?? []
  })
}

function metadataOf({ mint }: Extract<MintState, { readonly state: 'recorded' }>) {
  return { tenantId: mint.tenantId, actor: 'worker:chain-follower' }
}
