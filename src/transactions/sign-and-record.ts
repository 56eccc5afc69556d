/**
 * Signs transactions of a lane and records their bytes: within the funds of the wallet and before the deadlines of the
 * requests, as the database sees both in the append.
 *
 * Invariant: bytes that the append refuses are forgotten. They were sent to nobody, and their nonces stay free.
 */
import { type Change, change, type Loaded } from '../event-log/aggregate.ts'
import { appendApart, type OnSetAside } from '../event-log/append-apart.ts'
import { DeadlineMissed } from '../event-log/commit.ts'
import type { Lease } from '../event-log/leases.ts'
import { decided, type EventLog } from '../event-log/log.ts'
import { transactionAggregate } from './aggregate.ts'
import { expired, type Ready, type Refused } from './examine-waiting.ts'
import { type Lane, type LaneReads, laneName } from './lanes.ts'
import { createPurse, type Purse, withinPurse } from './purse.ts'
import { type SignBatchPorts, type Signed, signBatch } from './sign-batch.ts'
import type { TransactionState } from './state.ts'
import { type TagKeys, tagOf, withTag } from './tags.ts'
import { withinFunds } from './within-funds.ts'
import { workerMetadata } from './worker-metadata.ts'

export type SignAndRecordPorts = SignBatchPorts & {
  readonly log: EventLog
  readonly lanes: Pick<LaneReads, 'spare'>
  readonly keys: TagKeys
  /** Called for changes that the database cannot store. */
  readonly onSetAside: OnSetAside
}

/** The work of one append. */
export type Round = {
  readonly ready: readonly Ready[]
  /** For the ready ones in order. */
  readonly nonces: readonly number[]
  /** What the wallet could spare, wei. */
  readonly spare: bigint
  /** Recorded with the signatures. */
  readonly refused: readonly Refused[]
}

/** `unpaid`: those whose tag the wallet cannot pay for. */
export type RoundResult = { readonly appended: number; readonly signed: number; readonly unpaid: readonly Ready[] }

export function signAndRecord(
  ports: SignAndRecordPorts,
  lane: Lane,
  lease: Lease,
  { ready, nonces, spare, refused }: Round,
): Promise<RoundResult> {
  let timely = ready
  let ended = refused
  const attempt = async (funds: bigint): Promise<RoundResult> => {
    const purse = createPurse(funds)
    const payable = timely.flatMap((item) => tagged(ports.keys, purse, item) ?? [])
    const unpaid = timely.filter(({ loaded }) => payable.every((item) => item.loaded.id !== loaded.id))
    const signed = await lease.during(async () => (payable.length === 0 ? [] : signBatch(ports, lane, payable, nonces)))
    const appended = await record(ports, lane, lease, signed, ended)
    return { appended, signed: signed.length, unpaid }
  }
  const inTime = async (funds: bigint): Promise<RoundResult> => {
    for (;;) {
      try {
        return await attempt(funds)
      } catch (error) {
        if (!(error instanceof DeadlineMissed)) throw error
        const { transactionIds } = error
        const missed = timely.filter(({ loaded }) => transactionIds.includes(loaded.id))
        if (missed.length === 0) throw error
        timely = timely.filter((item) => !missed.includes(item))
        ended = [...ended, ...missed.map((item) => expired(item, ports.log.now()))]
      }
    }
  }
  return withinFunds(spare, () => ports.lanes.spare(lane), inTime)
}

async function record(
  { log, onSetAside }: SignAndRecordPorts,
  lane: Lane,
  lease: Lease,
  signed: readonly Signed<Ready>[],
  ended: readonly Refused[],
): Promise<number> {
  const context = (loaded: Loaded<TransactionState>) => ({
    metadata: workerMetadata(loaded.state, 'signer', laneName(lane)),
    now: log.now(),
  })
  const changes: Change[] = decided([
    ...ended.map(({ loaded, command }) => change(transactionAggregate, loaded, command, context(loaded))),
    ...signed.map(({ item: { loaded, quote }, bytes }) =>
      change(transactionAggregate, loaded, { type: 'RecordSignature', signed: bytes, quote }, context(loaded)),
    ),
  ])
  const deadlines = signed.flatMap(({ item: { loaded, transaction } }) =>
    transaction.intent.validUntil === null ? [] : [loaded.id],
  )
  return appendApart(log, changes, { guards: { fence: lease, deadlines }, onSetAside })
}

/** Within the purse, with the tag by which the bytes are recognised if the database forgets them. */
function tagged(keys: TagKeys, purse: Purse, item: Ready): Ready | null {
  const tag = tagOf(keys, { id: item.loaded.id, transaction: item.transaction }, 'send')
  return withinPurse(purse, item, (fees) => withTag(fees, tag))
}
