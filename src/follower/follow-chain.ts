/**
 * Follows one chain: processes its blocks, asks the capabilities for their effects, and commits all of them together
 * with the cursor. The cost grows with blocks; transactions and wallets are not polled.
 *
 * Invariant: the effects of a block and the step of the cursor over it are one commit, so no block counts twice or is
 * missed.
 */
import type { Nodes } from '../chain/agreement.ts'
import type { Block, BlockRef } from '../chain/blocks.ts'
import { type FollowStep, nextStep, type Pace } from '../chain/follow.ts'
import type { ChainSettings } from '../chain/settings.ts'
import type { RecoverAddress } from '../chain/transaction-bytes.ts'
import type { Context } from '../context.ts'
import type { ChainKey } from '../core/networks.ts'
import { type Decision, decideOn, type Loaded, type ReadModelRow } from '../event-log/aggregate.ts'
import type { OnUnstorable } from '../event-log/commit.ts'
import type { Lease } from '../event-log/leases.ts'
import type { EventLog } from '../event-log/log.ts'
import { chainAggregate, chainStream } from './aggregate.ts'
import { blockRow, type Cursor, cursorRow, firstBlocks, type StallReport, type WalkedBlocks } from './cursor.ts'
import type { ChainEvent } from './events.ts'
import { createFinality, createReadAccepted } from './finality.ts'
import { findGround } from './find-ground.ts'

/** The log records the follower's progress once per this many blocks. */
const ADVANCED_EVERY_BLOCKS = 1_000
const PRUNE_EVERY_BLOCKS = 128
/** Interval at which a quiet node's answer is recorded; readiness allows a minute. */
const TOUCH_INTERVAL_MS = 10_000

/** Steps that affect what is recorded. */
type Taken = Extract<FollowStep, { readonly type: 'advance' | 'reorg' }>

/** Committed with their blocks; `rows` are beside the log. */
type Observed = { readonly decisions: readonly Decision[]; readonly rows?: readonly ReadModelRow[] }

/** The effects of blocks for a capability. The decisions of all observers must be of different streams. */
export type BlockObserver = {
  readonly observe: (blocks: readonly Block[]) => Promise<Observed>
  /** All blocks above the ancestor left the chain; `head` is the newest block of the abandoned branch. */
  readonly unwind: (ancestor: number, head: number) => Promise<readonly Decision[]>
}

/** What the leader of a chain follows it with. */
export type FollowContext = Pick<Context, 'log'> & {
  readonly walked: WalkedBlocks
  readonly client: Nodes
  /** Finds who signed a transaction. */
  readonly recover: RecoverAddress
  /** Kept across runs, since a run ends when a node does not answer. */
  readonly pace: Pace
  /** Recorded blocks at a height or below, newest first: a page, empty when there are no more. */
  readonly recordedBlocks: (upTo: number) => Promise<readonly BlockRef[]>
  /** Runs exclusively: no step is committed while other code evaluates processed blocks. */
  readonly inTurn: <Result>(task: () => Promise<Result>) => Promise<Result>
  readonly settings: ChainSettings
  /** The time from the end of a poll to the next. */
  readonly pauseBetween: (signal: AbortSignal) => Promise<void>
  readonly observers: readonly BlockObserver[]
  /** Decisions that become final at a head, committed separately. */
  readonly settle: (head: number) => Promise<readonly Decision[]>
  /** Called for each outcome that the database cannot store: the others are settled without it. */
  readonly onUnstorable: OnUnstorable
  readonly stalls: StallReport
  /** Called after each step, for metrics and logs. */
  readonly onStep: (step: FollowStep) => void
}

/** Runs until the signal aborts. @throws when the node or the database stays unavailable: the leader starts it again */
export async function followChain(ctx: FollowContext, lease: Lease, signal: AbortSignal): Promise<void> {
  const { walked, client, recover, pace, settings, pauseBetween } = ctx
  const { chainId } = settings
  const accepted = createReadAccepted(ctx.log, settings)
  const following = {
    client,
    how: { recover, blockReceipts: true },
    pace,
    storedHashes: (from: number, to: number) => walked.hashes(chainId, from, to),
    acceptedGenesis: async () => (await accepted())?.genesis ?? null,
  }
  let cursor = (await walked.cursor(chainId)) ?? (await begin(ctx, lease))
  const finality = createFinality({ ...ctx, accepted })
  let settledAt: number | null = null
  let touchedAt = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    const step = await finality.judged(await grounded(ctx, await nextStep(following, cursor)))
    if (step.type === 'advance' || step.type === 'reorg') {
      const final = await finality.at(step.type === 'reorg' ? step.to : cursor)
      cursor = await ctx.inTurn(() => take(ctx, lease, { cursor, final }, step))
    } else if (performance.now() - touchedAt > TOUCH_INTERVAL_MS) {
      await walked.heard(chainId, step.type === 'waiting' ? null : step.head.number)
      touchedAt = performance.now()
    }
    await ctx.stalls.stepped(step)
    if (settledAt !== cursor.number) await settleAll(ctx, lease, cursor.number)
    settledAt = cursor.number
    ctx.onStep(step)
    if (step.type !== 'advance' || cursor.number >= step.head.number) await pauseBetween(signal)
  }
}

async function begin({ log, client, settings }: FollowContext, lease: Lease): Promise<Cursor> {
  const blocks = await firstBlocks(client, settings, log.now())
  const start = blocks.at(-1)
  if (start === undefined) throw new Error('a chain has a block 0')
  const { chainId } = settings
  const rows = [
    ...blocks.map((block) => blockRow(chainId, block)),
    cursorRow(chainId, { cursor: start, final: null, head: start.number }, log.now()),
  ]
  await log.commit({ decisions: [], rows }, { fence: lease })
  return start
}

/**
 * A reorg beyond the window reaches down to a recorded block that the nodes still have.
 */
async function grounded(
  { log, client, settings, recordedBlocks }: FollowContext,
  step: FollowStep,
): Promise<FollowStep> {
  if (step.type !== 'reorg' || !step.beyondWindow) return step
  const to = await findGround({ log, client: client.agreed, chain: settings, recordedBlocks }, step.to)
  return { ...step, to, depth: step.from.number - to.number }
}

/** Commits the effects of a step; returns the cursor after it. */
async function take(
  ctx: FollowContext,
  lease: Lease,
  { cursor, final }: { readonly cursor: Cursor; readonly final: BlockRef | null },
  step: Taken,
): Promise<Cursor> {
  const { walked, log, settings } = ctx
  const { chainId } = settings
  switch (step.type) {
    case 'advance': {
      const last = step.blocks.at(-1)
      if (last === undefined) return cursor
      const passed = crosses(cursor.number, last.number, ADVANCED_EVERY_BLOCKS)
      await log.commit(
        async () => {
          const observed = await Promise.all(ctx.observers.map(({ observe }) => observe(step.blocks)))
          const fact: ChainEvent = { type: 'FollowerAdvanced', data: { block: ref(last), advancedAt: log.now() } }
          return {
            decisions: [...observed.flatMap((one) => one.decisions), passed ? await decideFact(ctx, fact) : null],
            rows: [
              ...observed.flatMap((one) => one.rows ?? []),
              ...step.blocks.map((block) => blockRow(chainId, block)),
              cursorRow(chainId, { cursor: last, final, head: step.head.number }, log.now()),
            ],
          }
        },
        { fence: lease },
      )
      if (crosses(cursor.number, last.number, PRUNE_EVERY_BLOCKS)) await walked.prune(chainId, last.number)
      return ref(last)
    }
    case 'reorg': {
      const { from, to, depth, beyondWindow } = step
      await log.commit(
        async () => {
          const unwound = await Promise.all(ctx.observers.map(({ unwind }) => unwind(to.number, from.number)))
          const fact: ChainEvent = {
            type: 'ReorgDetected',
            data: { from: ref(from), ancestor: ref(to), depth, beyondWindow, detectedAt: log.now() },
          }
          // Beyond the window the block is not a kept one: its hash is added as the new start.
          const ground = beyondWindow ? [blockRow(chainId, { ...ref(to), parentHash: '', timestamp: 0 })] : []
          return {
            decisions: [...unwound.flat(), await decideFact(ctx, fact)],
            rows: [...ground, cursorRow(chainId, { cursor: to, final, head: step.head.number }, log.now())],
          }
        },
        { fence: lease },
      )
      await walked.prune(chainId, to.number)
      return ref(to)
    }
  }
}

async function decideFact({ log, settings }: FollowContext, fact: ChainEvent): Promise<Decision | null> {
  return decideOn(chainAggregate, await loadChain(log, settings), fact, {
    metadata: { tenantId: 'system', actor: 'worker:chain-follower' },
    now: log.now(),
  })
}

/** Settles in rounds until nothing more has enough confirmations. */
async function settleAll({ log, settle, onUnstorable }: FollowContext, lease: Lease, head: number): Promise<void> {
  for (;;) {
    const settled = await log.commit(() => settle(head), { fence: lease, onUnstorable })
    if (settled.length === 0) return
  }
}

function ref({ number, hash }: BlockRef): BlockRef {
  return { number, hash }
}

function crosses(from: number, to: number, every: number): boolean {
  return Math.floor(from / every) !== Math.floor(to / every)
}

/** The head of a chain's stream: the stream grows permanently, and only its head is needed. */
async function loadChain(log: EventLog, chain: ChainKey): Promise<Loaded<null>> {
  const id = chainStream(chain)
  const [head] = await log.heads([`${chainAggregate.category}-${id}`])
  return { id, state: null, version: head?.version ?? 0, hash: head?.hash ?? '' }
}

declare module '../capability.ts' {
  interface Capability {
    /** What it records of the blocks of a chain. */
    readonly observe?: (needs: Pick<Context, 'pool' | 'log'>, chainId: number) => BlockObserver
  }
}
