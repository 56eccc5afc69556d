/**
 * The check of a party before it creates a key or new shares: whether the log, read through its own connection,
 * contains the request.
 */

import type { Context } from '../context.ts'
import { idTime } from '../core/ids.ts'
import type { Row } from '../event-log/table-rows.ts'
import { notCovered } from '../keys/coverage.ts'
import type { CoversCeremony } from '../keys/mpc/party-ceremonies.ts'
import { walletAggregate } from '../wallets/aggregate.ts'
import type { MpcTerms } from '../wallets/events.ts'
import { REQUESTED, WALLETS } from '../wallets/sql.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import { coversGeneration, coversRefresh } from './covers.ts'
import { MPC_KEYS } from './sql.ts'

/** How long a created key counts as recent, ms. */
const LATELY_MS = 30 * 60_000
/** Limit of waiting wallets to read: one of them is enough to need a key. */
const MOST_WAITING = 50

export function createCeremonyCoverage({
  config,
  log,
  pool,
  clock,
  logger,
}: Pick<Context, 'config' | 'log' | 'pool' | 'clock' | 'logger'>): CoversCeremony {
  /** When this process began to create keys that the log may not have. */
  const begun = new Map<string, number>()

  async function unrecorded(): Promise<number> {
    for (const [keyId, at] of begun) if (at < clock() - LATELY_MS) begun.delete(keyId)
    const ids = [...begun.keys()]
    const heads = ids.length === 0 ? [] : await log.heads(ids.map((id) => `${mpcKeyAggregate.category}-${id}`))
    for (const [place, id] of ids.entries()) if ((heads[place]?.version ?? 0) > 0) begun.delete(id)
    return begun.size
  }

  /** The rows only locate the wallets; their events show whether they wait. */
  async function waiting(): Promise<readonly MpcTerms[]> {
    const { rows } = await pool.query<Pick<Row<'wallets'>, 'wallet_id'>>({
      name: 'waiting_mpc_wallets',
      text: `SELECT wallet_id FROM ${WALLETS} AS wallets WHERE ${REQUESTED} AND type = 'mpc' AND opened_from IS NULL ORDER BY wallet_id LIMIT ${MOST_WAITING}`,
    })
    const ids = rows.map(({ wallet_id }) => wallet_id)
    const wallets = ids.length === 0 ? [] : await log.loadChecked(walletAggregate, ids)
    return wallets.flatMap(({ state, broken }) =>
      // One that is opened from another wallet needs no key.
      broken === null && state.status === 'requested' && state.mpc !== null && state.openedFrom === null
        ? [state.mpc]
        : [],
    )
  }

  async function pooled({ threshold, parties }: MpcTerms): Promise<number> {
    const { rows } = await pool.query<{ n: string }>({
      name: 'pooled_mpc_keys',
      text: `SELECT count(*) AS n FROM ${MPC_KEYS} AS mpc_keys WHERE wallet_id IS NULL AND threshold = $1 AND parties = $2`,
      values: [threshold, parties],
    })
    return Number(rows[0]?.n ?? 0)
  }

  const judge: CoversCeremony = async (begin) => {
    if (begin.ceremony !== 'generate') {
      const [key] = await log.loadChecked(mpcKeyAggregate, [begin.keyId])
      if (key === undefined || key.broken !== null) return notCovered(key?.broken ?? 'the log does not have this key')
      return coversRefresh(key.state, begin.ceremony === 'repair' ? begin.target : begin.repaired)
    }
    if (config.mpc === null) return notCovered('no parties are configured')
    const { threshold, parties, poolSize: size } = config.mpc
    const asked = { threshold: begin.threshold, parties: begin.parties.length }
    const facts = {
      waiting: await waiting(),
      pooled: await pooled(asked),
      unrecorded: await unrecorded(),
      idAgeMs: clock() - (idTime(begin.keyId) ?? clock()),
    }
    const verdict = coversGeneration(asked, { ...facts, pool: { threshold, parties, size } })
    if (verdict.covered) begun.set(begin.keyId, clock())
    return verdict
  }

  return async (begin) => {
    const verdict = await judge(begin)
    const { ceremony, keyId } = begin
    if (!verdict.covered) {
      const { rule } = verdict
      logger.error(
        { ceremony, key_id: keyId, rule },
        'refused a ceremony: the event log has no matching request; check the coordinator',
      )
    }
    return verdict
  }
}
