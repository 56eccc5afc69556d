/**
 * Submits signed bytes to the network, in nonce order, in JSON-RPC batches. Submitting the same bytes again is
 * harmless; this code never creates new bytes.
 */
import type { Context } from '../context.ts'
import { Unavailable } from '../core/errors.ts'
import { decideOn, type Loaded } from '../event-log/aggregate.ts'
import type { Fence } from '../event-log/leases.ts'
import type { Passed } from '../jobs/drain.ts'
import { transactionAggregate } from './aggregate.ts'
import type { TransactionCommand } from './decider.ts'
import type { RulesOfKinds } from './kind-rules.ts'
import { type Lane, type LaneReads, laneName } from './lanes.ts'
import { type Answered as Answer, isFutile, type Receivers, sendBytes } from './send-bytes.ts'
import { type Attempt, isUnmined, type KnownTransaction, newestAttempt, type TransactionState } from './state.ts'

const MAX_BATCH = 256
/** Versions per transaction: with fee bumps of an eighth, these reach down to a third of the price. */
const MAX_OLDER = 8
const UNANSWERED: Answer = { outcome: 'unavailable', message: 'no response', relays: [] }

/** What a submitter has, beside what every process has. */
export type SubmitContext = Pick<Context, 'log'> & {
  /** Bytes submitted `rebroadcastAfterMs` ago that are in no block may have been dropped: they are submitted again. */
  readonly config: Pick<Context['config'], 'rebroadcastAfterMs'>
  readonly logger: Pick<Context['logger'], 'warn'>
  readonly chainOf: (chainId: number) => Receivers
  readonly lanes: Pick<LaneReads, 'toSubmit'>
  readonly kinds: RulesOfKinds
  /** Of these, those that a fork has left with too little gas. */
  readonly lackGas: (chainId: number, transactions: readonly KnownTransaction[]) => Promise<readonly boolean[]>
  /** Called for bytes that are sent to nobody: this process has none of the recorded relays, or no rules for the type. */
  readonly onLeft: (chainId: number, transactionId: string, type: KnownTransaction['type']) => void
}

/** One pass over a lane: sends everything that waits to be sent, and is not too young to be sent again. */
export async function submitLane(ctx: SubmitContext, lane: Lane, lease: Fence): Promise<Passed> {
  let passed: Passed = 'done'
  for (let afterNonce = -1; ; ) {
    const sent = await submitNext(ctx, lane, lease, afterNonce)
    if (sent === null) return passed
    if (sent.isLeft) passed = 'waits'
    if (sent.isLast) return passed
    afterNonce = sent.highest
  }
}

type Unsent = {
  readonly loaded: Loaded<TransactionState>
  readonly state: KnownTransaction
  readonly attempt: Attempt
}

/**
 * Submits the next batch above a nonce. `isLeft`: some of it waits for funds, or for what an operator must change; `null`
 * when the lane has nothing more to submit.
 */
async function submitNext(
  ctx: SubmitContext,
  lane: Lane,
  lease: Fence,
  afterNonce: number,
): Promise<{ readonly highest: number; readonly isLeft: boolean; readonly isLast: boolean } | null> {
  const { log, lanes, config } = ctx
  const ids = await lanes.toSubmit(lane, {
    forgottenAfterMs: config.rebroadcastAfterMs,
    afterNonce,
    limit: MAX_BATCH,
  })
  const unsent = (await log.loadMany(transactionAggregate, ids)).flatMap((loaded): Unsent[] => {
    const { state } = loaded
    if (state.state === 'unknown' || !isUnmined(state)) return []
    const attempt = newestAttempt(state)
    return attempt === null ? [] : [{ loaded, state, attempt }]
  })
  if (unsent.length === 0) return null
  const chain = ctx.chainOf(lane.chainId)
  const before = log.now()
  const futile = unsent.filter((item) => isFutile({ ...chain, kinds: ctx.kinds }, item, before))
  const open = unsent.filter((item) => !futile.includes(item))
  const poor = await withTooLittleGas(ctx, lane, open)
  const wanted = open.filter((item) => !poor.includes(item))
  const answers = await sendBytes(chain, wanted, ctx.kinds)
  const now = log.now()
  const outcomes: readonly Sent[] = [
    ...futile.map((item): Sent => ({ ...item, outcome: { type: 'RequestCancellation', now } })),
    ...poor.map((item): Sent => ({ ...item, outcome: 'wait' })),
    ...wanted.map((item, index) => {
      const answer = answers[index] ?? UNANSWERED
      report(ctx, lane, item, answer)
      return { ...item, outcome: interpret(item, answer, now) }
    }),
  ]
  await record(ctx, lane, lease, await withOlderVersions(ctx, chain, outcomes))
  const unanswered = outcomes.find(({ outcome }) => outcome === 'unanswered')
  if (unanswered !== undefined)
    throw new Unavailable(
      'rpc_unavailable',
      'The node did not accept every transaction. The submitter sends them again.',
    )
  return {
    highest: Math.max(...unsent.map(({ attempt }) => attempt.nonce)),
    isLeft: outcomes.some((sent) => sent.outcome === 'wait' || isShort(sent)),
    isLast: ids.length < MAX_BATCH,
  }
}

async function withTooLittleGas(
  { lackGas, logger }: SubmitContext,
  { chainId }: Lane,
  items: readonly Unsent[],
): Promise<readonly Unsent[]> {
  const lack = await lackGas(
    chainId,
    items.map(({ state }) => state),
  )
  const poor = items.filter((_, index) => lack[index])
  const message = 'not sent: a fork has made it dearer than its gas; it is replaced'
  for (const { loaded } of poor) tellRefused(logger, { transactionId: loaded.id, outcome: 'gas_too_low', message })
  return poor
}

type Answered = Unsent & { readonly outcome: TransactionCommand }
type Sent = Unsent & { readonly outcome: TransactionCommand | 'unanswered' | 'wait' }

/**
 * If the wallet cannot pay for the newest bytes, older versions are submitted: they have the same nonce, cost less, and
 * a node that lost its pool has none of them.
 */
async function withOlderVersions(
  { log, kinds }: SubmitContext,
  chain: Receivers,
  outcomes: readonly Sent[],
): Promise<readonly Sent[]> {
  const older = outcomes.flatMap((item) =>
    isShort(item) ? olderVersions(item).map((attempt) => ({ item, loaded: item.loaded, attempt })) : [],
  )
  if (older.length === 0) return outcomes
  const answers = await sendBytes(chain, older, kinds)
  const taken = new Map<Sent, Attempt>()
  for (const [index, { item, attempt }] of older.entries())
    if (answers[index]?.outcome === 'accepted' && !taken.has(item)) taken.set(item, attempt)
  return outcomes.map((item) => {
    const hash = taken.get(item)?.hash
    if (hash === undefined) return item
    return { ...item, outcome: { type: 'RecordSubmission', hash, insteadOf: item.attempt.hash, now: log.now() } }
  })
}

function isShort({ outcome }: Sent): boolean {
  return typeof outcome !== 'string' && outcome.type === 'RecordShortFunds'
}

/** Newest first; for a cancellation only cancellations, since the payment is no longer wanted. */
function olderVersions({ state, attempt }: Unsent): readonly Attempt[] {
  const isCancelled = attempt.purpose === 'cancel'
  return (
    state.attempts
      .filter(({ hash, purpose }) => hash !== attempt.hash && (purpose === 'cancel') === isCancelled)
      // What had less gas would fail since a fork.
      .filter(({ fees }) => isCancelled || fees.gasLimit >= attempt.fees.gasLimit)
      .slice(-MAX_OLDER)
      .reverse()
  )
}

/** Each refusal of a relay, also where another relay accepted the bytes. */
function report(
  { logger, onLeft }: SubmitContext,
  lane: Lane,
  { loaded: { id: transactionId }, state }: Unsent,
  { outcome, message, relays }: Answer,
): void {
  if (outcome === 'left') onLeft(lane.chainId, transactionId, state.type)
  else if (relays.length === 0 && outcome !== 'accepted') tellRefused(logger, { transactionId, outcome, message })
  for (const { host: relay, ...said } of relays)
    if (said.outcome !== 'accepted') tellRefused(logger, { transactionId, relay, ...said })
}

/** @param relay host and port of the relay that refused it; missing for nodes */
function tellRefused(
  logger: SubmitContext['logger'],
  refusal: {
    readonly transactionId: string
    readonly outcome: string
    readonly message: string
    readonly relay?: string
  },
): void {
  const { transactionId, outcome, message, relay } = refusal
  logger.warn(
    { transaction_id: transactionId, outcome, node_says: message, ...(relay === undefined ? {} : { relay }) },
    'a node rejected a transaction',
  )
}

/** Maps a response to a command. `unanswered`: nothing is known, the same bytes must be submitted again. */
function interpret({ attempt }: Unsent, { outcome }: Answer, now: string): TransactionCommand | 'unanswered' | 'wait' {
  switch (outcome) {
    case 'accepted':
    // The nonce is used: by these bytes, an older version, or a foreign transaction. The follower finds out which.
    case 'nonce_too_low':
    // The pool has an older version that this one does not outbid; the lane bumps the fee again later.
    case 'replacement_underpriced':
      return { type: 'RecordSubmission', hash: attempt.hash, now }
    case 'insufficient_funds':
      return { type: 'RecordShortFunds', hash: attempt.hash, now }
    case 'rejected':
      return { type: 'RequestCancellation', now }
    case 'fee_too_low':
    case 'nonce_gap':
    case 'pool_full':
    // The bytes do not change: an operator must raise the node's limit, and the finding `not_sent` reports it until
    // then.
    case 'node_limit':
    // The bytes do not change here either: they are sent again until the deadline of the swap.
    case 'unproven':
    case 'left':
      return 'wait'
    default:
      return 'unanswered'
  }
}

async function record({ log }: SubmitContext, lane: Lane, lease: Fence, outcomes: readonly Sent[]): Promise<void> {
  const recorded = outcomes.filter((sent): sent is Answered => typeof sent.outcome !== 'string')
  const sent = recorded.map(({ loaded }) => loaded)
  const ids = sent.map(({ id }) => id)
  await log.commit(
    async (isAgain) => {
      // The follower saw some of them in a block before the node's response arrived: decide again on the current state.
      const current = isAgain ? await log.loadMany(transactionAggregate, ids) : sent
      return recorded.map(({ outcome }, index) => {
        const loaded = current[index]
        // Unknown: a database restored since has forgotten it. Held: the same bytes are sent, and nothing is recorded.
        if (loaded === undefined || loaded.state.state === 'unknown' || loaded.held != null) return null
        return decideOn(transactionAggregate, loaded, outcome, {
          worker: 'submitter',
          cause: laneName(lane),
          now: log.now(),
        })
      })
    },
    { fence: lease },
  )
}
