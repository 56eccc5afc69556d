/** Finds what is stuck in a lane, with the next step for each problem. Pure: facts in, findings out. */
import { formatAmount } from '../../core/money.ts'
import { NATIVE_DECIMALS, NATIVE_SYMBOL } from '../../core/networks.ts'
import { holdsOf } from '../../transactions/aggregate.ts'
import { newestAttempt } from '../../transactions/state.ts'
import type { ChainNow } from '../chain-now.ts'
import { type Finding, type FindingKind, type NextStep, step } from '../finding.ts'
import type { Limits } from '../limits.ts'
import { apiRequest, bursar, count, duration, gwei, startProcess } from '../words.ts'
import type { Head, LaneNow } from './lane-now.ts'

export type LaneContext = {
  /** `null` for a chain that is no longer configured. */
  readonly chain: ChainNow | null
  readonly limits: Limits
  /** Number of live processes; `null` when the heartbeats could not be read. */
  readonly live: { readonly signer: number; readonly submitter: number } | null
  /**
   * Whether the follower is near the head of the chain; if not, mined transactions may not be recorded yet, and no lane
   * is reported for them.
   */
  readonly followed: boolean
  /**
   * Whether it has processed all but the newest blocks, so that a nonce that is used and not recorded belongs to a
   * foreign transaction.
   */
  readonly atHead: boolean
}

/** Worst first: what blocks the lane, then what waits behind it. */
export function judgeLane(lane: LaneNow, context: LaneContext): Finding[] {
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

type Add = (kind: FindingKind, forMs: number | null, problem: string, ...next: NextStep[]) => void

/** `ethereum 0x…`: also the arguments of `lane`. */
function laneSubject({ lane }: Pick<LaneNow, 'lane'>, chain: Pick<ChainNow, 'name'> | null): string {
  return `${chain?.name ?? `chain-${lane.chainId}`} ${lane.address}`
}

const look = (lane: LaneNow, { chain }: LaneContext) =>
  step('See the lane in detail.', bursar(`lane ${laneSubject(lane, chain)}`))
const story = (id: string) => step('Read its story.', bursar(`explain ${id}`))

/**
 * A lane signs again once the follower has processed what nodes show: before that, the database may be missing
 * transactions.
 */
function judgeKnowledge(lane: LaneNow, context: LaneContext, add: Add): void {
  const { chainNonce, ages, ids } = lane
  if (!knowsTooLittle(lane) || ids.ready === null || (ages.ready ?? 0) <= context.limits.workMs) return
  add(
    'lane_held',
    ages.ready,
    `On chain the account is at nonce ${chainNonce}, and the log knows of nonces below ${nextOf(lane)}: another program sends from this address, ` +
      'or the database has gone back to an earlier state and forgotten what it signed.',
    step(
      'Compare it with the chain now, and read what it waits for (as the database user of the signers).',
      bursar(`reconcile ${laneSubject(lane, context.chain)}`),
    ),
    step(
      'See that the follower catches up: what it finds on chain is recorded, and the lane goes on by itself.',
      bursar('stuck'),
    ),
    step('After a restore or a failover read docs/operations.md, "Backup, restore, failover".'),
  )
}

function nextOf({ highestNonce }: LaneNow): number {
  return (highestNonce ?? -1) + 1
}

function knowsTooLittle(lane: LaneNow): boolean {
  return lane.chainNonce !== null && lane.chainNonce > nextOf(lane)
}

function judgeNonces(lane: LaneNow, context: LaneContext, add: Add): void {
  const { gaps, chainNonce, head, headNonce, ages } = lane
  const [gap] = gaps
  // A waiting request automatically gets the lowest free nonce: the gap is about to be filled.
  if (gap !== undefined && headNonce !== null && gap < headNonce && lane.counts.waiting === 0) {
    add(
      'nonce_gap',
      ages.head,
      `Nonce ${gaps.join(', ')} is given to nobody, and ${count(lane.counts.submitted + lane.counts.unsent, 'transaction')} ` +
        `from nonce ${headNonce} on cannot be mined before it.`,
      step(
        'Send any transfer from the wallet, of 0.000000000000000001 to itself for instance: it gets the nonce that is free.',
        apiRequest(`/v1/wallets/${lane.wallet?.id ?? '{wallet_id}'}/transfer`, {
          to: lane.lane.address,
          amount: '0.000000000000000001',
          asset: context.chain === null ? 'ETH' : NATIVE_SYMBOL[context.chain.settings.network],
        }),
      ),
      look(lane, context),
    )
  }
  if (chainNonce === null || headNonce === null || head === null || chainNonce <= headNonce) return
  if (!context.atHead || (ages.head ?? 0) <= context.limits.workMs) return
  add(
    'nonce_taken',
    ages.head,
    `On chain the account is at nonce ${chainNonce}, and ${head.id} with nonce ${headNonce} is not recorded as mined although the ` +
      'follower is near the head: something outside of Bursar sent from this address.',
    step(
      "Find out who else has this key. When the stranger's block is final the transaction gets a new nonce by itself; it fails " +
        'after three such losses.',
      bursar(`explain ${head.id}`),
    ),
  )
}

function judgeHead(lane: LaneNow, context: LaneContext, add: Add): void {
  const { head, ages } = lane
  const { chain, limits } = context
  const newest = head === null ? null : newestAttempt(head.transaction)
  if (head === null || newest === null) return
  if (head.transaction.state === 'awaiting_funds') {
    judgeFunds(lane, head, context, add)
    return
  }
  const maxFee = BigInt(newest.fees.maxFeePerGas)
  if (chain?.node.up && maxFee < chain.node.baseFeePerGas) {
    add(
      'fee_under_base',
      ages.head,
      `${head.id} (nonce ${newest.nonce}) offers ${gwei(maxFee)} at most and the base fee is ${gwei(chain.node.baseFeePerGas)}: ` +
        'no block takes it, nor anything behind it.',
      ...dearer(head, chain, limits),
    )
    return
  }
  if (!context.followed || head.transaction.state !== 'submitted' || (ages.head ?? 0) <= limits.blockMs) return
  add(
    'not_mined',
    ages.head,
    `${head.id} (nonce ${newest.nonce}) was given to a node ${duration(ages.head ?? 0)} ago, offers enough, and is in no block.`,
    step('See whether the chain makes blocks at all: its node or the provider may have stopped.', bursar('stuck')),
    story(head.id),
    step('Pay more for it.', apiRequest(pathOf(head, 'speed-up'), { gas_priority: 'high' })),
    step('Or give it up.', apiRequest(pathOf(head, 'cancel'))),
  )
}

function dearer(head: Head, chain: ChainNow, { replaceAfterMs }: Limits): NextStep[] {
  const { maxFeePerGasWei: cap, minTipWei } = chain.settings
  const needed = chain.node.up ? chain.node.baseFeePerGas + minTipWei : 0n
  if (needed > cap) {
    return [
      step(
        `The cap of ${gwei(cap)} forbids what the network asks: wait for fees to fall, or set ${chain.capSetting} to more than ` +
          `${needed} (wei) and start the signers again.`,
        startProcess('signer'),
      ),
    ]
  }
  return [
    step(`Wait: it is made dearer by itself ${duration(replaceAfterMs)} after it was sent, up to ${gwei(cap)}.`),
    step('Or pay more at once.', apiRequest(pathOf(head, 'speed-up'), { gas_priority: 'high' })),
    step('Or give it up.', apiRequest(pathOf(head, 'cancel'))),
  ]
}

function judgeFunds(lane: LaneNow, head: Head, context: LaneContext, add: Add): void {
  const { intent } = head.transaction
  const symbol = NATIVE_SYMBOL[intent.network]
  const needed = [...holdsOf(head.transaction)].find(([assetId]) => assetId.includes('/slip44:'))?.[1] ?? 0n
  const held = lane.nativeBalance
  const missing = held === null ? null : needed - held
  const has = held === null ? '' : ` and has ${formatAmount(held, NATIVE_DECIMALS)}`
  add(
    'awaiting_funds',
    lane.ages.head,
    `${head.id} needs ${formatAmount(needed, NATIVE_DECIMALS)} ${symbol} with its gas${has}: the node refuses it, and what is ` +
      'behind it waits.',
    step(
      missing !== null && missing > 0n
        ? `Send at least ${formatAmount(missing, NATIVE_DECIMALS)} ${symbol} to ${intent.from}: it is sent again by itself.`
        : `Send ${symbol} to ${intent.from}: it is sent again by itself, within ${duration(context.limits.rebroadcastAfterMs)}.`,
    ),
    step('Or give it up.', apiRequest(pathOf(head, 'cancel'))),
  )
}

function judgeUnsent(lane: LaneNow, context: LaneContext, add: Add): void {
  const { unsent: id } = lane.ids
  const since = lane.ages.unsent
  if (id === null || since === null || since <= context.limits.workMs) return
  const down = context.live?.submitter === 0
  add(
    'not_sent',
    since,
    `${count(lane.counts.unsent, 'transaction')} signed and not with a node, ${id} for ${duration(since)}` +
      (down ? ': no submitter lives.' : '.'),
    ...(down ? [step('Start a submitter.', startProcess('submitter'))] : []),
    ...(context.chain?.node.up === false
      ? [step(`No node of the chain answers: mend it, or name another one in ${context.chain.urlsSetting}.`)]
      : []),
    step('See why the job failed, if it did.', 'npm run jobs -- failed submit'),
    step(
      "See what the node said: the submitter's log names it.",
      `docker compose logs --since 10m submitter | grep ${id}`,
    ),
  )
}

function judgeWaiting(lane: LaneNow, context: LaneContext, add: Add): void {
  const { ready: id } = lane.ids
  const since = lane.ages.ready
  const { limits, chain, live } = context
  if (id === null || since === null || since <= limits.workMs || knowsTooLittle(lane)) return
  const inFlight = lane.counts.unsent + lane.counts.submitted + lane.counts.awaitingFunds
  // A full lane waits for blocks; a lane above the fee cap waits for lower fees: both are reported by their own
  // findings.
  if (inFlight >= limits.maxInFlightPerLane || isOverCap(chain)) return
  const waiting = `${count(lane.counts.waiting - lane.counts.dependent, 'request')} to be signed, ${id} for ${duration(since)}`
  const why = step(
    'See why the job failed, if it did: a transaction that no node can simulate is named there.',
    'npm run jobs -- failed lane',
  )
  if (lane.signLease !== null && lane.signLease.expiresInMs > 0) {
    add(
      'lane_not_signing',
      since,
      `${waiting}: ${lane.signLease.holder} holds the lane and signs nothing.`,
      why,
      step("Read the signer's log.", 'docker compose logs --since 10m signer'),
    )
    return
  }
  add(
    'lane_without_holder',
    since,
    `${waiting}, and no signer holds the lane.`,
    live?.signer === 0
      ? step('No signer lives: start one.', startProcess('signer'))
      : step('Signers live: add more if all of them are busy.', `${startProcess('signer')} --scale signer=4`),
    step('See whether the queue and the dispatcher work.', bursar('queues')),
    why,
  )
}

/** Whether the network's fee is above the cap, so that nothing is signed. */
export function isOverCap(chain: ChainNow | null): boolean {
  if (chain === null || !chain.node.up) return false
  return chain.node.baseFeePerGas + chain.settings.minTipWei > chain.settings.maxFeePerGasWei
}

function judgeWishes(lane: LaneNow, context: LaneContext, add: Add): void {
  const { wish: id } = lane.ids
  const since = lane.ages.wish
  if (id === null || since === null || since <= context.limits.workMs) return
  const { chain } = context
  add(
    'wish_not_done',
    since,
    `${count(lane.counts.wishes, 'cancellation')} or speed-up asked for and not signed, ${id} for ${duration(since)}.`,
    context.live?.signer === 0
      ? step('No signer lives: start one.', startProcess('signer'))
      : step(
          chain === null
            ? 'The chain is configured no more: set its RPC URLs again.'
            : `A replacement costs an eighth more: if that is above the cap of ${gwei(chain.settings.maxFeePerGasWei)}, set ` +
                `${chain.capSetting} higher and start the signers again.`,
        ),
    story(id),
  )
}

function judgeLeases(lane: LaneNow, { limits }: LaneContext, add: Add): void {
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
      `${lease.holder} died, or hangs, while it held the lane to ${what}, and no other ${process} has taken it.`,
      step(`Start a ${process}: it takes the lane within seconds.`, startProcess(process)),
      step('See whether the queue works: the job that wakes the lane comes from there.', bursar('queues')),
    )
  }
}

function pathOf({ id, transaction }: Head, action: 'cancel' | 'speed-up'): string {
  return `/v1/wallets/${transaction.intent.walletId}/transactions/${id}/${action}`
}
