/**
 * The commands of a joint key, and when they are refused. Pure: ceremony results, ids and time come with the command. A
 * command that is already fulfilled, or that comes too late, produces no event.
 *
 * Invariant: epochs are consecutive, and at most one attempt of a refresh is recorded.
 */
import { Conflict, NotFound, ValidationFailed } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import { assertNever } from '../core/never.ts'
import type { MpcKeyEvent, MpcKeyGenerated, RefreshReason } from './events.ts'
import { evolve, type KnownMpcKey, type MpcKeyState, openRefresh, UNKNOWN_MPC_KEY } from './state.ts'

type RecordGeneration = { readonly type: 'RecordGeneration'; readonly generated: MpcKeyGenerated['data'] }

type RequestRefresh = {
  readonly type: 'RequestRefresh'
  readonly refreshId: string
  readonly reason: RefreshReason
  readonly party: number | null
  readonly now: string
}
type RecordRefresh = {
  readonly type: 'RecordRefresh'
  readonly refreshId: string
  readonly attemptId: string
  /** The epoch whose shares the attempt began with. */
  readonly fromEpoch: number
  readonly now: string
}
type AccuseParty = {
  readonly type: 'AccuseParty'
  readonly party: number
  /** The epoch whose share the party used. */
  readonly epoch: number
  readonly accusedBy: number
  readonly reason: string
  readonly now: string
}

type Later =
  | { readonly type: 'Assign'; readonly walletId: string; readonly tenantId: string; readonly now: string }
  | RequestRefresh
  | RecordRefresh
  | {
      readonly type: 'GiveUpRefresh'
      readonly refreshId: string
      readonly code: string
      readonly message: string
      readonly now: string
    }
  | AccuseParty

export type MpcKeyCommand = RecordGeneration | Later

export const mpcKeyDecider: Decider<MpcKeyState, MpcKeyCommand, MpcKeyEvent> = {
  initialState: UNKNOWN_MPC_KEY,
  evolve,
  decide(command, state) {
    if (command.type === 'RecordGeneration') return recordGeneration(command, state)
    if (state.status === 'unknown') throw new NotFound('mpc_key')
    return decideKnown(command, state)
  },
}

function recordGeneration({ generated }: RecordGeneration, state: MpcKeyState): readonly MpcKeyEvent[] {
  if (state.status !== 'unknown') throw new Conflict('mpc_key_exists', 'An mpc key with this id already exists.')
  return [{ type: 'MpcKeyGenerated', data: generated }]
}

function decideKnown(command: Later, key: KnownMpcKey): readonly MpcKeyEvent[] {
  switch (command.type) {
    case 'Assign': {
      const { walletId, tenantId, now: assignedAt } = command
      if (key.wallet?.walletId === walletId) return []
      if (key.wallet !== null) throw new Conflict('mpc_key_assigned', 'This mpc key belongs to another wallet.')
      return [{ type: 'MpcKeyAssigned', data: { walletId, tenantId, assignedAt } }]
    }
    case 'RequestRefresh':
      return requestRefresh(command, key)
    case 'RecordRefresh':
      return recordRefresh(command, key)
    case 'GiveUpRefresh': {
      const { refreshId, code, message, now: failedAt } = command
      if (openRefresh(key)?.refreshId !== refreshId) return []
      return [{ type: 'MpcSharesRefreshFailed', data: { refreshId, code, message, failedAt } }]
    }
    case 'AccuseParty':
      return accuseParty(command, key)
    default:
      return assertNever(command)
  }
}

function requestRefresh(command: RequestRefresh, key: KnownMpcKey): readonly MpcKeyEvent[] {
  const { refreshId, reason, party, now: requestedAt } = command
  if (party !== null && !key.parties.includes(party)) throw notAParty(party, key)
  const open = openRefresh(key)
  if (open?.refreshId === refreshId) return []
  if (open !== null) {
    throw new Conflict(
      'refresh_in_progress',
      'A refresh of the shares of this wallet is already in progress: wait until it has ended.',
      { refresh_id: open.refreshId, reason: open.reason },
    )
  }
  return [{ type: 'MpcSharesRefreshRequested', data: { refreshId, reason, party, requestedAt } }]
}

function recordRefresh(command: RecordRefresh, key: KnownMpcKey): readonly MpcKeyEvent[] {
  const { refreshId, attemptId, fromEpoch, now: refreshedAt } = command
  const open = openRefresh(key)
  // Another attempt was first, or the refresh was given up: the shares of this one are never used.
  if (open?.refreshId !== refreshId || key.epoch !== fromEpoch) return []
  const { reason, party } = open
  const data = { epoch: fromEpoch + 1, refreshId, attemptId, reason, party, refreshedAt }
  return [{ type: 'MpcSharesRefreshed', data }]
}

/**
 * One accusation does not ban a party. Among as many accusers as the threshold at least one is honest, or the key is
 * lost anyway.
 */
function accuseParty(command: AccuseParty, key: KnownMpcKey): readonly MpcKeyEvent[] {
  const { party, epoch, accusedBy, reason, now } = command
  for (const each of [party, accusedBy]) if (!key.parties.includes(each)) throw notAParty(each, key)
  if (party === accusedBy)
    throw ValidationFailed.field('party', 'not_allowed', 'The accused party must not be the accusing party.')
  const against = key.accusations.filter((each) => each.party === party).map((each) => each.accusedBy)
  // A refresh since then has removed what the party could have abused.
  if (epoch !== key.epoch || against.includes(accusedBy)) return []
  const accused: MpcKeyEvent = { type: 'MpcPartyAccused', data: { party, epoch, accusedBy, reason, accusedAt: now } }
  if (against.length + 1 < key.threshold || key.banned.includes(party)) return [accused]
  return [accused, { type: 'MpcPartyBanned', data: { party, epoch, reportedBy: accusedBy, reason, bannedAt: now } }]
}

function notAParty(party: number, { parties }: KnownMpcKey): ValidationFailed {
  const rule = `party must be one of ${parties.join(', ')}, which hold shares of this wallet, not ${party}.`
  return ValidationFailed.field('party', 'not_allowed', rule)
}
