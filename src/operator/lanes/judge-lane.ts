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
const story = (id: string) => step('Read its history.', bursar(`explain ${id}`))

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
      `Nonce ${gaps.join(', ')} is unused, so ${count(lane.counts.submitted + lane.counts.unsent, 'transaction')} ` +
        `from nonce ${headNonce} on cannot be mined.`,
      step(
        'Send any transfer from the wallet, such as 0.000000000000000001 to itself: it gets the free nonce.',
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
    `The account is at nonce ${chainNonce} on chain, but ${head.id} with nonce ${headNonce} is not recorded as mined although the ` +
      'follower is near the head: another program sent from this address.',
    step(
      'Find out who else has this key. When the other block is final, the transaction gets a new nonce automatically; it fails ' +
        'after the third time.',
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
  const maxFee = newest.fees.maxFeePerGas
  if (chain?.node.up && maxFee < chain.node.baseFeePerGas) {
    add(
      'fee_under_base',
      ages.head,
      `${head.id} (nonce ${newest.nonce}) offers at most ${gwei(maxFee)}, but the base fee is ${gwei(chain.node.baseFeePerGas)}: ` +
        'neither it nor later transactions of the lane can be mined.',
      ...dearer(head, chain, limits),
    )
    return
  }
  if (!context.followed || head.transaction.state !== 'submitted' || (ages.head ?? 0) <= limits.blockMs) return
  add(
    'not_mined',
    ages.head,
    `${head.id} (nonce ${newest.nonce}) was sent to a node ${duration(ages.head ?? 0)} ago and its fee is high enough, but it is not mined.`,
    step('Check that the chain produces blocks: its node or the provider may have stopped.', bursar('stuck')),
    story(head.id),
    step('Speed it up.', apiRequest(pathOf(head, 'speed-up'), { gas_priority: 'high' })),
    step('Or cancel it.', apiRequest(pathOf(head, 'cancel'))),
  )
}

function dearer(head: Head, chain: ChainNow, { replaceAfterMs }: Limits): NextStep[] {
  const { maxFeePerGasWei: cap, minTipWei } = chain.settings
  const needed = chain.node.up ? chain.node.baseFeePerGas + minTipWei : 0n
  if (needed > cap) {
    return [
      step(
        `The network requires more than the cap of ${gwei(cap)}: wait for fees to fall, or set ${chain.capSetting} to more than ` +
          `${needed} (wei) and restart the signers.`,
        startProcess('signer'),
      ),
    ]
  }
  return [
    step(`Wait: its fee is bumped automatically ${duration(replaceAfterMs)} after it was sent, up to ${gwei(cap)}.`),
    step('Or speed it up now.', apiRequest(pathOf(head, 'speed-up'), { gas_priority: 'high' })),
    step('Or cancel it.', apiRequest(pathOf(head, 'cancel'))),
  ]
}

function judgeFunds(lane: LaneNow, head: Head, context: LaneContext, add: Add): void {
  const { intent } = head.transaction
  const symbol = NATIVE_SYMBOL[intent.network]
  const needed = [...holdsOf(head.transaction)].find(([assetId]) => assetId.includes('/slip44:'))?.[1] ?? 0n
  const held = lane.nativeBalance
  const missing = held === null ? null : needed - held
  const has = held === null ? '' : `, but the wallet has ${formatAmount(held, NATIVE_DECIMALS)}`
  add(
    'awaiting_funds',
    lane.ages.head,
    `${head.id} needs ${formatAmount(needed, NATIVE_DECIMALS)} ${symbol} including gas${has}: the node refuses it, and later ` +
      'transactions of the lane wait.',
    step(
      missing !== null && missing > 0n
        ? `Send at least ${formatAmount(missing, NATIVE_DECIMALS)} ${symbol} to ${intent.from}: the transaction is then sent again automatically.`
        : `Send ${symbol} to ${intent.from}: the transaction is then sent again automatically within ${duration(context.limits.rebroadcastAfterMs)}.`,
    ),
    step('Or cancel it.', apiRequest(pathOf(head, 'cancel'))),
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
    `${count(lane.counts.unsent, 'transaction')} signed but not sent to a node, ${id} for ${duration(since)}` +
      (down ? ': no submitter is running.' : '.'),
    ...(down ? [step('Start a submitter.', startProcess('submitter'))] : []),
    ...(context.chain?.node.up === false
      ? [step(`No node of the chain answers: fix the node, or add another one to ${context.chain.urlsSetting}.`)]
      : []),
    ...(context.chain?.relaySetting == null
      ? []
      : [
          step(
            `If it is a swap: it is sent only to the private relays of ${context.chain.relaySetting}. Check that they answer, or cancel it: a cancellation also goes to the nodes.`,
          ),
        ]),
    step('Check whether the job failed, and why.', 'npm run jobs -- failed submit'),
    step(
      'Read the error of the node in the log of the submitter.',
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
    'Check whether the job failed, and why: it names a transaction that no node can simulate.',
    'npm run jobs -- failed lane',
  )
  if (lane.signLease !== null && lane.signLease.expiresInMs > 0) {
    add(
      'lane_not_signing',
      since,
      `${waiting}: ${lane.signLease.holder} holds the lane but signs nothing.`,
      why,
      step("Read the signer's log.", 'docker compose logs --since 10m signer'),
    )
    return
  }
  add(
    'lane_without_holder',
    since,
    `${waiting}, but no signer holds the lane.`,
    live?.signer === 0
      ? step('No signer is running: start one.', startProcess('signer'))
      : step('Signers are running: add more if all of them are busy.', `${startProcess('signer')} --scale signer=4`),
    step('Check that the queue and the dispatcher work.', bursar('queues')),
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
    `${count(lane.counts.wishes, 'cancellation')} or speed-up requested but not signed, ${id} for ${duration(since)}.`,
    context.live?.signer === 0
      ? step('No signer is running: start one.', startProcess('signer'))
      : step(
          chain === null
            ? 'The chain is no longer configured: set its RPC URLs again.'
            : `A replacement costs at least 12.5 % more. If that is above the cap of ${gwei(chain.settings.maxFeePerGasWei)}, set ` +
                `${chain.capSetting} higher and restart the signers.`,
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
      `${lease.holder} died or hangs while it held the lane to ${what}, and no other ${process} has taken over.`,
      step(`Start a ${process}: it takes over the lane within seconds.`, startProcess(process)),
      step('Check that the queue works: it delivers the job of the lane.', bursar('queues')),
    )
  }
}

function pathOf({ id, transaction }: Head, action: 'cancel' | 'speed-up'): string {
  return `/v1/wallets/${transaction.intent.walletId}/transactions/${id}/${action}`
}
