/**
 * Gives a requested mpc wallet its key: one from the pool, or one that the parties create for it. Runs in the signer
 * process, as a job.
 *
 * Invariant: a wallet gets one key and a key belongs to one wallet, however often and wherever the job runs, because
 * both are recorded in one append under both streams' versions. A key whose wallet got another one stays in the pool.
 */
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { decideOn } from '../event-log/aggregate.ts'
import { StreamConflict } from '../event-log/append.ts'
import { repeatOnConflict } from '../event-log/commit.ts'
import type { EventLog } from '../event-log/log.ts'
import type { Row } from '../event-log/table-rows.ts'
import { isAddressTaken } from '../wallets/address-taken.ts'
import { walletAggregate } from '../wallets/aggregate.ts'
import type { MpcTerms } from '../wallets/events.ts'
import { type LoadedRequest, loadRequest } from '../wallets/load-request.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import { generateKey } from './generate-key.ts'

/** What making a wallet needs of the signer process. It keeps state: one for each process. */
export type MpcWalletContext = Parameters<typeof generateKey>[0] &
  Pick<Context, 'pool' | 'newId'> & {
    /** Keys that this process is assigning: two of its wallets never try the same one. Empty at the start. */
    readonly busyKeys: Set<string>
  }

/** @throws NotFound for an unknown wallet; Unavailable when the parties cannot create a key now: the job is retried */
export async function makeMpcWallet(ctx: MpcWalletContext, walletId: string): Promise<void> {
  const passedOver = new Set<string>()
  const attempt = async () => {
    const request = await loadRequest(ctx.log, walletId)
    const { state } = request.wallet
    if (state.status !== 'requested' || state.mpc === null || state.openedFrom !== null) return
    const keyId = await takeKey(ctx, state.mpc, passedOver)
    try {
      await assign(ctx.log, request, keyId)
    } catch (error) {
      passedOver.add(keyId)
      throw error
    } finally {
      ctx.busyKeys.delete(keyId)
    }
  }
  await repeatOnConflict(attempt, { isConflict: isLost })
}

/** The wallet or the key was assigned meanwhile, or the tenant already watches the key's address. */
function isLost(error: unknown): boolean {
  return error instanceof StreamConflict || isAddressTaken(error)
}

/** A key from the pool, or a new one; it is marked as busy. */
async function takeKey(ctx: MpcWalletContext, terms: MpcTerms, passedOver: ReadonlySet<string>): Promise<string> {
  const { pool, newId, busyKeys: busy } = ctx
  for (;;) {
    const found = await findPooled(pool, terms, [...busy, ...passedOver])
    if (found === null) break
    if (busy.has(found)) continue // Taken for another wallet during the query.
    busy.add(found)
    return found
  }
  const keyId = newId('mpcKey')
  busy.add(keyId)
  try {
    await generateKey(ctx, keyId, terms)
    return keyId
  } catch (error) {
    busy.delete(keyId)
    throw error
  }
}

/** The oldest key of the pool with these terms. */
async function findPooled(pool: Pool, terms: MpcTerms, except: readonly string[]): Promise<string | null> {
  const { rows } = await pool.query<Pick<Row<'mpc_keys'>, 'key_id'>>({
    name: 'pooled_mpc_key',
    text: `SELECT key_id FROM mpc_keys WHERE wallet_id IS NULL AND threshold = $1 AND parties = $2 AND key_id <> ALL ($3)
            ORDER BY key_id LIMIT 1`,
    values: [terms.threshold, terms.parties, except],
  })
  return rows[0]?.key_id ?? null
}

/** @throws an error that `isLost`; errors of the append */
async function assign(log: EventLog, { wallet, metadata }: LoadedRequest, keyId: string): Promise<void> {
  const key = await log.load(mpcKeyAggregate, keyId)
  if (key.state.status !== 'pooled') throw new StreamConflict(`${mpcKeyAggregate.category}-${keyId}`)
  const { address, publicKey, threshold, parties } = key.state
  const now = log.now()
  const context = { metadata, now }
  const created = {
    address,
    key: { kind: 'mpc', keyId },
    derivationPath: null,
    createdAt: now,
    publicKey,
    threshold,
    parties: parties.length,
  } as const
  const recipient = { walletId: wallet.id, tenantId: metadata.tenantId }
  const assigned = decideOn(mpcKeyAggregate, key, { type: 'Assign', ...recipient, now }, context)
  const recorded = decideOn(walletAggregate, wallet, { type: 'RecordKey', created }, context)
  await log.commit<unknown>([assigned, recorded])
}
