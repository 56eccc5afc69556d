/** Deliveries and replays in the form of the API. */
import { toIso } from '../core/instants.ts'
import type { OrNull, Row } from '../event-log/table-rows.ts'
import type { View } from '../http/view.ts'
import type { deliveryDetailSchema, deliverySchema, replaySchema } from './delivery-schemas.ts'
import type { DeliveryState } from './delivery-state.ts'

export type DeliveryView = View<typeof deliverySchema>
export type DeliveryDetail = View<typeof deliveryDetailSchema>
export type ReplayView = View<typeof replaySchema>

export type AttemptView = DeliveryDetail['attempt_list'][number]
export type DeliveryRow = Row<
  'webhook_deliveries',
  { readonly state: DeliveryState; readonly attempt_list: readonly AttemptView[] }
>
export type ReplayRow = Row<'webhook_replays', { readonly types: readonly string[] | null }> &
  OrNull<Pick<Row<'webhook_replay_progress'>, 'added' | 'ended_at'>> & { readonly is_expired: boolean }

export function toDeliveryView(row: DeliveryRow): DeliveryView {
  return {
    delivery_id: row.delivery_id,
    webhook_id: row.webhook_id,
    event_id: row.event_id,
    type: row.type,
    replay_id: row.replay_id,
    state: row.state,
    attempts: row.attempts,
    next_attempt_at: row.state === 'pending' ? toIso(row.due_at) : null,
    created_at: toIso(row.created_at),
    ended_at: instantOf(row.ended_at),
  }
}

export function toDeliveryDetail(row: DeliveryRow): DeliveryDetail {
  return { ...toDeliveryView(row), attempt_list: [...row.attempt_list] }
}

export function toReplayView(row: ReplayRow): ReplayView {
  return {
    replay_id: row.replay_id,
    webhook_id: row.webhook_id,
    after: row.after,
    from: instantOf(row.from_at),
    to: instantOf(row.to_at),
    types: row.types,
    only_failed: row.only_failed,
    status: row.is_expired ? 'expired' : row.ended_at === null ? 'running' : 'completed',
    added: Number(row.added ?? 0),
    requested_at: toIso(row.requested_at),
    completed_at: instantOf(row.ended_at),
  }
}

function instantOf(at: Date | null): string | null {
  return at === null ? null : toIso(at)
}
