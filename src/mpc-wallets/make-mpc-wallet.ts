/**
 * Gives a requested mpc wallet its key: one from the pool, or one that the parties create for it. Runs in the signer
 * process, as a job.
 *
 * Invariant: a wallet gets one key and a key belongs to one wallet, however often and wherever the job runs, because
 * both are recorded in one append under both streams' versions. A key whose wallet got another one stays in the pool.
 */
import type { Pool } from 'pg'
import type { NewId } from '../declarations.ts'
import { change } from '../event-log/aggregate.ts'
import { StreamConflict } from '../event-log/commit.ts'
import { repeatOnConflict } from '../event-log/commit-decisions.ts'
import type { EventLog } from '../event-log/log.ts'
import type { Row } from '../event-log/table-rows.ts'
import { isAddressTaken } from '../wallets/address-taken.ts'
import { walletAggregate } from '../wallets/aggregate.ts'
import type { MpcTerms } from '../wallets/events.ts'
import { type LoadedRequest, loadRequest } from '../wallets/load-request.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import type { GenerateKey } from './generate-key.ts'

export type MakeMpcWalletPorts = {
  readonly log: EventLog
  readonly pool: Pool
  readonly newId: NewId
  readonly generateKey: GenerateKey
}

/** @throws NotFound for an unknown wallet; Unavailable when the parties cannot create a key now: the job is retried */
export type MakeMpcWallet = (walletId: string) => Promise<void>

export function createMakeMpcWallet(ports: MakeMpcWalletPorts): MakeMpcWallet {
  /** Keys that this process is assigning: two of its wallets never try the same one. */
  const busy = new Set<string>()

  return async (walletId) => {
    const passedOver = new Set<string>()
    const attempt = async () => {
      const request = await loadRequest(ports.log, walletId)
      const { state } = request.wallet
      if (state.status !== 'requested' || state.mpc === null) return
      const keyId = await takeKey(ports, state.mpc, busy, passedOver)
      try {
        await assign(ports.log, request, keyId)
      } catch (error) {
        passedOver.add(keyId)
        throw error
      } finally {
        busy.delete(keyId)
      }
    }
    await repeatOnConflict(attempt, { isConflict: isLost })
  }
}

/** The wallet or the key was assigned meanwhile, or the tenant already watches the key's address. */
function isLost(error: unknown): boolean {
  return error instanceof StreamConflict || isAddressTaken(error)
}

/** A key from the pool, or a new one; it is marked as busy. */
async function takeKey(
  { pool, newId, generateKey }: MakeMpcWalletPorts,
  terms: MpcTerms,
  busy: Set<string>,
  passedOver: ReadonlySet<string>,
): Promise<string> {
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
    await generateKey(keyId, terms)
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
  const assigned = change(mpcKeyAggregate, key, { type: 'Assign', ...recipient, now }, context)
  const recorded = change(walletAggregate, wallet, { type: 'RecordKey', created }, context)
  await log.commit<unknown>([assigned, recorded])
}
