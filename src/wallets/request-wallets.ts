/**
 * Accepts the request for many wallets of one type and network, all or none, in one append. From then on each is a wallet of its
 * own; the id of the batch finds them again. A request that cannot be served now is refused and leaves no trace.
 */
import type { Pool } from 'pg'
import { Conflict, type ErrorItem, ValidationFailed } from '../core/errors.ts'
import { fieldPath } from '../core/field-path.ts'
import { forResource, type Metadata } from '../core/messages.ts'
import type { Owner } from '../core/tenants.ts'
import type { Accepted } from '../event-log/accept.ts'
import { decideNew } from '../event-log/aggregate.ts'
import { UniqueRuleBroken } from '../event-log/append.ts'
import type { Row } from '../event-log/table-rows.ts'
import { walletAggregate } from './aggregate.ts'
import { type RequestWalletContext, requireSigner, type WalletRequest } from './request-wallet.ts'
import { toView, type WalletRow, type WalletView } from './view.ts'

export type BatchItem = Pick<WalletRequest, 'label' | 'externalId'>

/** What all wallets of the batch have in common. `items`: 1 to 1,000. */
export type WalletsRequest = Omit<WalletRequest, keyof BatchItem> & { readonly items: readonly BatchItem[] }

/**
 * The wallets have ids in the order of the items.
 *
 * @throws ValidationFailed for `mpc`, or for an `external_id` that two items have; Unavailable `signer_unavailable`; Conflict
 *   `external_id_taken` with the wallets that have them; IdempotencyKeyReused
 */
export async function requestWallets(
  ctx: RequestWalletContext,
  { tags = [], items, ...wanted }: WalletsRequest,
  { metadata }: { readonly metadata: Metadata },
): Promise<Accepted> {
  requireDistinct(items)
  const accepting = ctx.accept(metadata, async (append) => {
    const mpc = await requireSigner(ctx, wanted)
    const batchId = ctx.newId('walletBatch')
    const now = ctx.log.now()
    const recording = { metadata: forResource(metadata, batchId), now }
    const decisions = items.map((item) => {
      const request = { ...wanted, ...item, mpc, requestedAt: now }
      const command = { type: 'RequestWallet', request, tags, batchId } as const
      return decideNew(walletAggregate, ctx.newId('wallet'), command, recording)
    })
    return append({ id: batchId, commit: { decisions }, made: null })
  })
  return accepting.catch(async (error) => {
    throw isExternalIdTaken(error) ? await externalIdsTaken(ctx.pool, metadata.tenantId, items) : error
  })
}

function requireDistinct(items: readonly BatchItem[]): void {
  const first = new Map<string, number>()
  const mistakes = items.flatMap(({ externalId }, n): ErrorItem[] => {
    if (externalId === null) return []
    const other = first.get(externalId)
    if (other === undefined) first.set(externalId, n)
    if (other === undefined) return []
    const field = fieldPath(['items', n, 'external_id'])
    const message = `${field} is that of items[${other}]: each wallet needs an external_id of its own, or none.`
    return [{ type: 'validation_error', field, code: 'duplicate_external_id', message }]
  })
  if (mistakes.length > 0) throw new ValidationFailed(mistakes)
}

function isExternalIdTaken(error: unknown): boolean {
  return error instanceof UniqueRuleBroken && error.constraint === 'wallets_external_id_once'
}

/** Reported wallets, at most. */
const MOST_REPORTED = 20

async function externalIdsTaken(pool: Pool, tenantId: string, items: readonly BatchItem[]): Promise<Conflict> {
  const { rows } = await pool.query<Pick<Row<'wallets'>, 'wallet_id' | 'external_id'>>(
    `SELECT wallet_id, external_id FROM wallets WHERE tenant_id = $1 AND external_id = ANY ($2) ORDER BY wallet_id LIMIT ${MOST_REPORTED}`,
    [tenantId, items.flatMap(({ externalId }) => externalId ?? [])],
  )
  return new Conflict(
    'external_id_taken',
    'Other wallets have some of these external_ids, which stay with them permanently: leave those items out.',
    { wallets: rows },
  )
}

/** The wallets of a batch, in the order of its items. */
export async function readWalletBatch(
  { pool }: { readonly pool: Pool },
  { tenantId, environment }: Owner,
  batchId: string,
): Promise<readonly WalletView[]> {
  const { rows } = await pool.query<WalletRow>({
    name: 'wallets_of_batch',
    text: 'SELECT * FROM wallets WHERE batch_id = $1 AND tenant_id = $2 AND environment = $3 ORDER BY wallet_id',
    values: [batchId, tenantId, environment],
  })
  return rows.map((row) => toView(row))
}
