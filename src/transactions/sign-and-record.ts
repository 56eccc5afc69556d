/**
 * Signs transactions of a lane and records their bytes: within the funds of the wallet and before the deadlines of the
 * requests, as the database sees both in the append.
 *
 * Invariant: bytes that the append refuses are forgotten. They were sent to nobody, and their nonces stay free.
 */
import { change, type Recording } from '../event-log/aggregate.ts'
import { DeadlineMissed } from '../event-log/commit.ts'
import type { OnUnstorable } from '../event-log/commit-decisions.ts'
import type { Fence } from '../event-log/leases.ts'
import type { EventLog } from '../event-log/log.ts'
import { transactionAggregate } from './aggregate.ts'
import { expired, type Ready, type Refused } from './examine-waiting.ts'
import { createGasBudget, type GasBudget, withinBudget, withinFunds } from './gas-budget.ts'
import { type Lane, type LaneReads, laneName } from './lanes.ts'
import { type SignBatchPorts, type Signed, signBatch } from './sign-batch.ts'
import { type TagKeys, tagOf, withTag } from './tags.ts'

export type SignAndRecordPorts = SignBatchPorts & {
  readonly log: EventLog
  readonly lanes: Pick<LaneReads, 'spare'>
  readonly keys: TagKeys
  /** Called for decisions that the database cannot store. */
  readonly onUnstorable: OnUnstorable
}

/** The work of one append. */
export type Round = {
  readonly ready: readonly Ready[]
  /** For the ready ones in order. */
  readonly nonces: readonly number[]
  /** What the wallet could spare, wei. */
  readonly spare: bigint
  /** Recorded before the signatures. */
  readonly refused: readonly Refused[]
}

/** `unpaid`: those whose tag the wallet cannot pay for. `left`: those that the signer refused while it signed others. */
export type RoundResult = {
  readonly appended: number
  readonly signed: number
  readonly unpaid: readonly Ready[]
  readonly left: readonly Ready[]
}

/**
 * What is refused is recorded before anything is signed: mpc parties may have signed it before, and give its nonce to the
 * next one only once the log says that it has ended.
 */
export async function signAndRecord(
  ports: SignAndRecordPorts,
  lane: Lane,
  lease: Fence,
  { ready, nonces, spare, refused }: Round,
): Promise<RoundResult> {
  let timely = ready
  let ended = await recordEnded(ports, lane, lease, refused)
  const attempt = async (funds: bigint): Promise<RoundResult> => {
    const budget = createGasBudget(funds)
    const payable = timely.flatMap((item) => tagged(ports.keys, budget, item) ?? [])
    const unpaid = timely.filter(({ loaded }) => payable.every((item) => item.loaded.id !== loaded.id))
    const left: Ready[] = []
    const onLeft = (item: Ready, reason: string) => {
      left.push(item)
      ports.onRefused(item.loaded.id, reason)
    }
    const signed = payable.length === 0 ? [] : await signBatch(ports, lane, payable, nonces, onLeft)
    const recorded = await recordSigned(ports, lane, lease, signed)
    return { appended: ended + recorded, signed: signed.length, unpaid, left }
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
        const late = missed.map((item) => expired(item, ports.log.now()))
        ended += await recordEnded(ports, lane, lease, late)
      }
    }
  }
  return withinFunds(spare, () => ports.lanes.spare(lane), inTime)
}

async function recordEnded(
  { log, onUnstorable }: SignAndRecordPorts,
  lane: Lane,
  lease: Fence,
  ended: readonly Refused[],
): Promise<number> {
  const changes = ended.map(({ loaded, command }) => change(transactionAggregate, loaded, command, bySigner(log, lane)))
  return (await log.commit(changes, { fence: lease, onUnstorable })).length
}

async function recordSigned(
  { log, onUnstorable }: SignAndRecordPorts,
  lane: Lane,
  lease: Fence,
  signed: readonly Signed<Ready>[],
): Promise<number> {
  const changes = signed.map(({ item: { loaded, quote }, bytes }) =>
    change(transactionAggregate, loaded, { type: 'RecordSignature', signed: bytes, quote }, bySigner(log, lane)),
  )
  const deadlines = signed.flatMap(({ item: { loaded, transaction } }) =>
    transaction.intent.validUntil === null ? [] : [loaded.id],
  )
  return (await log.commit(changes, { fence: lease, deadlines, onUnstorable })).length
}

function bySigner(log: EventLog, lane: Lane): Recording {
  return { worker: 'signer', cause: laneName(lane), now: log.now() }
}

/** Within the budget, with the tag by which the bytes are recognised if the database forgets them. */
function tagged(keys: TagKeys, budget: GasBudget, item: Ready): Ready | null {
  const tag = tagOf(keys, { id: item.loaded.id, transaction: item.transaction }, 'send')
  return withinBudget(budget, item, (fees) => withTag(fees, tag))
}
