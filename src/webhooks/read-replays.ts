/** Reads the replays of a webhook. The caller has found the webhook. */
import type { Context } from '../context.ts'
import { NotFound } from '../core/errors.ts'
import { type ReplayRow, type ReplayView, toReplayView } from './delivery-view.ts'
import { IS_EXPIRED } from './sql.ts'

const REPLAYS = `SELECT r.*, p.added, p.ended_at, ${IS_EXPIRED} AS is_expired
  FROM webhook_replays AS r LEFT JOIN webhook_replay_progress AS p USING (replay_id) WHERE r.webhook_id = $1`

/** Newest first: ids sort by creation time. @param before only replays older than the one with this id */
export async function listReplays(
  { pool }: Pick<Context, 'pool'>,
  webhookId: string,
  { before, limit }: { readonly before?: string | undefined; readonly limit: number },
): Promise<ReplayView[]> {
  const { rows } = await pool.query<ReplayRow>({
    name: 'list_webhook_replays',
    text: `${REPLAYS} AND ($2::text IS NULL OR r.replay_id < $2) ORDER BY r.replay_id DESC LIMIT $3`,
    values: [webhookId, before ?? null, limit],
  })
  return rows.map(toReplayView)
}

/** @throws NotFound `webhook_replay_not_found` */
export async function readReplay(
  { pool }: Pick<Context, 'pool'>,
  webhookId: string,
  replayId: string,
): Promise<ReplayView> {
  const { rows } = await pool.query<ReplayRow>({
    name: 'read_webhook_replay',
    text: `${REPLAYS} AND r.replay_id = $2`,
    values: [webhookId, replayId],
  })
  const [row] = rows
  if (row === undefined) throw new NotFound('webhook_replay')
  return toReplayView(row)
}

/** How many are neither completed nor expired. */
export async function countRunningReplays({ pool }: Pick<Context, 'pool'>, webhookId: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>({
    name: 'count_running_replays',
    text: `SELECT count(*)::integer AS count FROM (${REPLAYS}) AS r WHERE ended_at IS NULL AND NOT is_expired`,
    values: [webhookId],
  })
  return rows[0]?.count ?? 0
}
