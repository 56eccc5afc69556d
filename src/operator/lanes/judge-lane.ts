/** Finds what is stuck in a lane, with the next step for each problem. Pure: facts in, findings out. */
import type { FindingKind } from '../../core/registry.ts'
import { type HeldCause, heldNext, heldText } from '../../transactions/held-cause.ts'
import { type Finding, type NextStep, step } from '../finding.ts'
import { bursar, count, duration, startProcess } from '../words.ts'
import { judgeHead } from './judge-head.ts'
import { judgeNonces } from './judge-nonces.ts'
import { judgeWishes } from './judge-wishes.ts'
import type { LaneNow } from './lane-now.ts'
import { type Add, isOverCap, type LaneSituation, laneSubject, story } from './lane-situation.ts'

/** In times after which work counts as late, 30 s by default. */
const HELD_FOR_SWEEPS = 4

/** Worst first: what blocks the lane, then what waits behind it. */
export function judgeLane(lane: LaneNow, context: LaneSituation): Finding[] {
  const found: Finding[] = []
  const add = (kind: FindingKind, forMs: number | null, problem: string, ...next: NextStep[]) =>
    found.push({ kind, subject: laneSubject(lane, context.chain), problem, forMs, next })
  judgeKnowledge(lane, context, add)
  judgeNonces(lane, context, add)
  judgeHead(lane, context, add)
  judgeUnsent(lane, context, add)
  judgeWaiting(lane, context, add)
  judgeWishes(lane, context, add)
  judgeLeases(lane, context, add)
  return found
}

/**
 * A lane signs again once the follower has processed what nodes show: before that, the database may be missing
 * transactions.
 */
function judgeKnowledge(lane: LaneNow, context: LaneSituation, add: Add): void {
  const { chainNonce, ages, ids } = lane
  if (ids.ready === null || (ages.ready ?? 0) <= context.limits.workMs) return
  const cause = heldNow(lane, context)
  if (cause !== null) {
    judgeHeld(lane, cause, context, add)
    return
  }
  if (!knowsTooLittle(lane)) return
  add(
    'lane_held',
    ages.ready,
    `The account is at nonce ${chainNonce} on chain, but the log has only nonces below ${nextOf(lane)}: another program sends from this address, ` +
      'or the database was restored to an earlier state.',
    step(
      'Compare the lane with the chain (as the database user of the signers).',
      bursar(`reconcile ${laneSubject(lane, context.chain)}`),
    ),
    step(
      'Check that the follower catches up: it records the missing transactions, and the lane then continues automatically.',
      bursar('stuck'),
    ),
    step('After a restore or failover, read docs/operations.md, "Backup, restore, failover".'),
  )
}

/** Signers try every lane again within a few sweeps: what is older is over. */
function heldNow({ held }: LaneNow, { limits }: LaneSituation): HeldCause | null {
  return held === null || held.seenMs > HELD_FOR_SWEEPS * limits.workMs ? null : held.cause
}

function judgeHeld(lane: LaneNow, cause: HeldCause, { chain }: LaneSituation, add: Add): void {
  const reconcile = step(
    'Compare the lane with the chain (as the database user of the signers).',
    bursar(`reconcile ${laneSubject(lane, chain)}`),
  )
  const isOne = cause.kind === 'not_simulated'
  add(
    isOne ? 'lane_not_signing' : 'lane_held',
    lane.ages.ready,
    `${count(lane.counts.waiting - lane.counts.dependent, 'request')} to be signed: ${heldText(cause)}.`,
    step(heldNext(cause)),
    ...(isOne ? [story(cause.transactionId)] : [reconcile]),
  )
}

function nextOf({ highestNonce }: LaneNow): number {
  return (highestNonce ?? -1) + 1
}

function knowsTooLittle(lane: LaneNow): boolean {
  return lane.chainNonce !== null && lane.chainNonce > nextOf(lane)
}

function judgeUnsent(lane: LaneNow, context: LaneSituation, add: Add): void {
  const { unsent: id } = lane.ids
  const since = lane.ages.unsent
  if (id === null || since === null || since <= context.limits.workMs) return
  const down = context.live?.submitter === 0
  add(
    'not_sent',
    since,
    `${count(lane.counts.unsent, 'transaction')} signed but not sent to a node, ${id} for ${duration(since)}` +
      (down ? ': no submitter is running.' : '.'),
    ...(down ? [step('Start a submitter.', startProcess('submitter'))] : []),
    ...(context.chain?.node.up === false
      ? [step(`No node of the chain answers: fix the node, or add another one to ${context.chain.urlsSetting}.`)]
      : []),
    ...(context.chain?.relayed == null
      ? []
      : [
          step(
            `If it is a ${context.chain.relayed.noun}: it is sent only to the private relays that ${context.chain.relayed.setting} named when it was requested. Check that they answer and that every submitter has them, or cancel it: a cancellation also goes to the nodes.`,
          ),
        ]),
    step('Check whether the lane failed, and why.', 'npm run jobs -- failed submit'),
    step(
      'Read the error of the node in the log of the submitter.',
      `docker compose logs --since 10m submitter | grep ${id}`,
    ),
  )
}

function judgeWaiting(lane: LaneNow, context: LaneSituation, add: Add): void {
  const { ready: id } = lane.ids
  const since = lane.ages.ready
  const { limits, chain, live } = context
  if (id === null || since === null || since <= limits.workMs) return
  if (knowsTooLittle(lane) || heldNow(lane, context) !== null) return
  const inFlight = lane.counts.unsent + lane.counts.submitted + lane.counts.awaitingFunds
  // A full lane waits for blocks; a lane above the fee cap waits for lower fees: both are reported by their own
  // findings.
  if (inFlight >= limits.maxInFlightPerLane || isOverCap(chain)) return
  const waiting = `${count(lane.counts.waiting - lane.counts.dependent, 'request')} to be signed, ${id} for ${duration(since)}`
  const why = step(
    'Check whether the lane failed, and why: the reason names a transaction that no node can simulate.',
    `npm run jobs -- failed ${lane.wallet?.type === 'mpc' ? 'mpc-lane' : 'lane'}`,
  )
  if (lane.signLease !== null && lane.signLease.expiresInMs > 0) {
    add(
      'lane_not_signing',
      since,
      `${waiting}: ${lane.signLease.holder} holds its partition (lease ${lane.signLease.name}) but does not sign it.`,
      why,
      ...ofParties(lane, chain),
      step("Read the signer's log.", 'docker compose logs --since 10m signer'),
      step(
        'If most lanes wait, the signers are too busy: start more. They share the partitions.',
        `${startProcess('signer')} --scale signer=4`,
      ),
    )
    return
  }
  add(
    'lane_without_holder',
    since,
    `${waiting}, but no signer holds its partition.`,
    ...(live?.signer === 0 ? [step('No signer is running: start one.', startProcess('signer'))] : []),
    step('Check that the queue and the dispatcher work: a job brings the partition to a signer.', bursar('queues')),
    why,
    ...ofParties(lane, chain),
  )
}

/** To a party the log's word that a nonce is lost is a claim, which it checks with nodes of its own. */
function ofParties({ wallet }: LaneNow, chain: LaneSituation['chain']): NextStep[] {
  if (wallet?.type !== 'mpc' || chain === null) return []
  return [
    step(
      `If it had another nonce before: each party proves with its own nodes that this nonce is lost, and signs no second one without. Check ${chain.urlsSetting} in the settings of each party, and that these nodes answer.`,
    ),
  ]
}

function judgeLeases(lane: LaneNow, { limits }: LaneSituation, add: Add): void {
  const { counts } = lane
  const cases = [
    [lane.signLease, 'sign', counts.waiting - counts.dependent + counts.wishes, 'signer'],
    [lane.submitLease, 'submit', counts.unsent, 'submitter'],
  ] as const
  for (const [lease, what, work, process] of cases) {
    if (lease === null || work === 0 || -lease.expiresInMs <= limits.leaseGraceMs) continue
    add(
      'lease_expired',
      -lease.expiresInMs,
      `${lease.holder} died or hangs while it held the partition of the lane to ${what} (lease ${lease.name}), and no other ${process} has taken over.`,
      step(`Start a ${process}: it takes over the partition within seconds.`, startProcess(process)),
      step('Check that the queue works: it delivers the job of the partition.', bursar('queues')),
    )
  }
}
