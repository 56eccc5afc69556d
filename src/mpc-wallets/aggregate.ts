/** The read models of a joint key: its row, and one row for each refresh of its shares. Pure. */
import type { Aggregate, ReadModelRow } from '../event-log/aggregate.ts'
import { type MpcKeyCommand, mpcKeyDecider } from './decider.ts'
import type { MpcKeyEvent } from './events.ts'
import { type KnownMpcKey, type MpcKeyState, openRefresh, type Refresh } from './state.ts'

const first = { version: 1, upcasters: [] }

export const mpcKeyAggregate: Aggregate<MpcKeyState, MpcKeyCommand, MpcKeyEvent, 'mpc_keys' | 'mpc_refreshes'> = {
  ...mpcKeyDecider,
  category: 'mpckey',
  whenSetAside: 'end',
  schemas: {
    MpcKeyGenerated: first,
    MpcKeyAssigned: first,
    MpcSharesRefreshRequested: first,
    MpcSharesRefreshed: first,
    MpcSharesRefreshFailed: first,
    MpcPartyAccused: first,
    MpcPartyBanned: first,
  },
  opens: (event) => (event.type === 'MpcSharesRefreshRequested' ? { id: event.data.refreshId, rank: 0 } : null),
  project(before, after, { id, version }) {
    if (after.status === 'unknown') return { rows: [], holds: [] }
    const known = before.status === 'unknown' ? null : before.refresh
    const { refresh } = after
    const refreshed = refresh === null || refresh === known ? [] : [refreshRow(id, refresh)]
    return { rows: [keyRow(id, after, version), ...refreshed], holds: [] }
  },
}

function keyRow(keyId: string, key: KnownMpcKey, version: number): ReadModelRow<'mpc_keys'> {
  return {
    table: 'mpc_keys',
    row: {
      key_id: keyId,
      wallet_id: key.wallet?.walletId ?? null,
      tenant_id: key.wallet?.tenantId ?? null,
      public_key: key.publicKey,
      address: key.address,
      threshold: key.threshold,
      parties: key.parties.length,
      epoch: key.epoch,
      attempt_id: key.attemptId,
      banned: key.banned,
      accusations: key.accusations.map(({ party, accusedBy }) => ({ party, accused_by: accusedBy })),
      open_refresh: openRefresh(key)?.refreshId ?? null,
      refreshed_at: key.refreshedAt,
      asked_at: key.refresh?.requestedAt ?? null,
      version,
    },
  }
}

function refreshRow(keyId: string, refresh: Refresh): ReadModelRow<'mpc_refreshes'> {
  return {
    table: 'mpc_refreshes',
    row: {
      refresh_id: refresh.refreshId,
      key_id: keyId,
      reason: refresh.reason,
      party: refresh.party,
      status: refresh.status,
      epoch: refresh.epoch,
      failure: refresh.failure,
      requested_at: refresh.requestedAt,
      ended_at: refresh.endedAt,
    },
  }
}
