/**
 * Signs transactions of a lane and records their bytes: within the funds of the wallet and before the deadlines of the
 * requests, as the database sees both in the append.
 *
 * Invariant: bytes that the append refuses are forgotten. They were sent to nobody, and their nonces stay free.
 *
 * Invariant: the results of the signer are the requested bytes, sent from the lane's own address; bytes of any other sender
 * are neither appended nor submitted, whoever signed them.
 */

import { type Clock, toInstant } from '../core/ids.ts'
import { decideOn, type Recording } from '../event-log/aggregate.ts'
import { DeadlineMissed } from '../event-log/append.ts'
import type { Fence } from '../event-log/leases.ts'
import type { EventLog } from '../event-log/log.ts'
import { sameHex } from '../keys/coverage.ts'
import { NonceClaimed, type SignedTransaction, SigningRefused, type UnsignedTransaction } from '../keys/signer.ts'
import type { SigningWallet } from '../wallets/signing-wallet.ts'
import { transactionAggregate } from './aggregate.ts'
import { type Call, unsigned } from './build-call.ts'
import type { SignedBytes } from './events.ts'
import { expired, type Ready, type Refused } from './examine-waiting.ts'
import { createGasBudget, type GasBudget, withinBudget, withinFunds } from './gas-budget.ts'
import type { Fees } from './intent.ts'
import type { LaneContext } from './lane-context.ts'
import { type Lane, laneName } from './lanes.ts'
import { type TagKeys, tagOf, withTag } from './tags.ts'

type SigningContext = BatchContext & Pick<LaneContext, 'log' | 'lanes' | 'keys' | 'onUnstorable'>

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
  ctx: SigningContext,
  lane: Lane,
  lease: Fence,
  { ready, nonces, spare, refused }: Round,
): Promise<RoundResult> {
  let timely = ready
  let ended = await recordEnded(ctx, lane, lease, refused)
  const attempt = async (funds: bigint): Promise<RoundResult> => {
    const budget = createGasBudget(funds)
    const payable = timely.flatMap((item) => tagged(ctx.keys, budget, item) ?? [])
    const unpaid = timely.filter(({ loaded }) => payable.every((item) => item.loaded.id !== loaded.id))
    const left: Ready[] = []
    const onLeft = (item: Ready, reason: string) => {
      left.push(item)
      ctx.onRefused(item.loaded.id, reason)
    }
    const signed = payable.length === 0 ? [] : await signBatch(ctx, lane, payable, nonces, onLeft)
    const recorded = await recordSigned(ctx, lane, lease, signed)
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
        const late = missed.map((item) => expired(item, ctx.log.now()))
        ended += await recordEnded(ctx, lane, lease, late)
      }
    }
  }
  return withinFunds(spare, () => ctx.lanes.spare(lane), inTime)
}

async function recordEnded(
  { log, onUnstorable }: SigningContext,
  lane: Lane,
  lease: Fence,
  ended: readonly Refused[],
): Promise<number> {
  const decisions = ended.map(({ loaded, command }) =>
    decideOn(transactionAggregate, loaded, command, bySigner(log, lane)),
  )
  return (await log.commit(decisions, { fence: lease, onUnstorable })).length
}

async function recordSigned(
  { log, onUnstorable }: SigningContext,
  lane: Lane,
  lease: Fence,
  signed: readonly Signed<Ready>[],
): Promise<number> {
  const decisions = signed.map(({ item: { loaded, quote }, bytes }) =>
    decideOn(transactionAggregate, loaded, { type: 'RecordSignature', signed: bytes, quote }, bySigner(log, lane)),
  )
  const deadlines = signed.flatMap(({ item: { loaded, transaction } }) =>
    transaction.intent.validUntil === null ? [] : [loaded.id],
  )
  return (await log.commit(decisions, { fence: lease, deadlines, onUnstorable })).length
}

function bySigner(log: EventLog, lane: Lane): Recording {
  return { worker: 'signer', cause: laneName(lane), now: log.now() }
}

/** Within the budget, with the tag by which the bytes are recognised if the database forgets them. */
function tagged(keys: TagKeys, budget: GasBudget, item: Ready): Ready | null {
  const tag = tagOf(keys, { id: item.loaded.id, transaction: item.transaction }, 'send')
  return withinBudget(budget, item, (fees) => withTag(fees, tag))
}

type BatchContext = Pick<LaneContext, 'signer' | 'clock' | 'onRefused'>

export type Signable = {
  readonly loaded: { readonly id: string }
  readonly wallet: SigningWallet
  readonly call: Call
  readonly fees: Fees
}

export type Signed<Item> = { readonly item: Item; readonly bytes: SignedBytes }

/** How many of a batch may be refused before the others are tried in vain: each costs some tries of the parties. */
const MOST_REFUSED = 3

/**
 * As `signUnder`; if one of the transactions was signed before and can only have that nonce, it gets it. That is of a signer
 * that could not record it, and saw others than those that wait now: these get the nonces that are left.
 *
 * One that parties refuse, or that they bound to a nonce that is not free any more, is left out: those behind it go on.
 *
 * @param onLeft called for what was refused while others were signed
 * @throws errors of `Signer.signTransactions`, of the first transaction
 */
export async function signBatch<Item extends Signable>(
  ctx: BatchContext,
  lane: Lane,
  ready: readonly Item[],
  nonces: readonly number[],
  onLeft: (item: Item, reason: string) => void = () => undefined,
): Promise<readonly Signed<Item>[]> {
  const refusals: (SigningRefused | NonceClaimed)[] = []
  for (;;) {
    try {
      const signed = await signInTurn(ctx, lane, ready.slice(refusals.length), nonces)
      for (const [index, { message }] of refusals.entries()) onLeft(ready[index] as Item, message)
      return signed
    } catch (error) {
      if (!isRefusal(error)) throw refusals[0] ?? error
      refusals.push(error)
      if (refusals.length > Math.min(MOST_REFUSED, ready.length - 1)) throw refusals[0]
    }
  }
}

function isRefusal(error: unknown): error is SigningRefused | NonceClaimed {
  return error instanceof SigningRefused || error instanceof NonceClaimed
}

/** @param moved those that were moved to the front before: parties that disagree must not do it for ever */
async function signInTurn<Item extends Signable>(
  ctx: BatchContext,
  lane: Lane,
  ready: readonly Item[],
  nonces: readonly number[],
  moved: readonly string[] = [],
): Promise<readonly Signed<Item>[]> {
  const signed = await signUnder(ctx, lane, ready, nonces).catch((error: unknown) => {
    if (error instanceof NonceClaimed && !moved.includes(error.transactionId)) return error
    throw error
  })
  if (!(signed instanceof NonceClaimed)) return signed
  const { transactionId, nonce, others } = signed
  const place = ready.findIndex(({ loaded }) => loaded.id === transactionId)
  if (place === -1 || (place === 0 && nonce === nonces[0])) throw signed
  const bound = new Map([...others, [transactionId, nonce]])
  const next = arranged(ready, withFirst(nonces, nonce).slice(0, ready.length), bound)
  return signInTurn(ctx, lane, next.items, next.nonces, [...moved, transactionId])
}

/** Each nonce with what is bound to it; the others in order with those that are left. The first nonce stays the first. */
function arranged<Item extends Signable>(
  ready: readonly Item[],
  nonces: readonly number[],
  bound: ReadonlyMap<string, number>,
): { readonly items: readonly Item[]; readonly nonces: readonly number[] } {
  const owners = new Map<number, Item>()
  for (const item of ready) {
    const own = bound.get(item.loaded.id)
    if (own !== undefined && nonces.includes(own)) owners.set(own, item)
  }
  const placed = new Set(owners.values())
  const others = ready.filter((item) => !placed.has(item))
  const pairs = nonces.flatMap((nonce) => {
    const item = owners.get(nonce) ?? others.shift()
    return item === undefined ? [] : [{ item, nonce }]
  })
  return { items: pairs.map(({ item }) => item), nonces: pairs.map(({ nonce }) => nonce) }
}

/**
 * Each with the nonce of its place; unsigned ones are missing, and their nonces are free for the next ones.
 *
 * @throws errors of `Signer.signTransactions`
 */
export async function signUnder<Item extends Signable>(
  ctx: BatchContext,
  lane: Lane,
  ready: readonly Item[],
  nonces: readonly number[],
): Promise<readonly Signed<Item>[]> {
  const requests = ready.map(({ loaded, wallet, call, fees }, index) => ({
    key: wallet.key,
    intent: { kind: 'transaction' as const, id: loaded.id },
    transaction: unsigned(lane.chainId, nonces[index] as number, call, fees),
  }))
  const answer = await ctx.signer.signTransactions(requests)
  return answer.flatMap((signed, index) => {
    const item = ready[index] as Item
    const transaction = requests[index]?.transaction as UnsignedTransaction
    if (!sameHex(signed.sender, lane.address)) {
      ctx.onRefused(item.loaded.id, foreignSender(signed.sender, lane.address))
      return []
    }
    return [{ item, bytes: toBytes(transaction.nonce, signed, item.fees, ctx.clock) }]
  })
}

function toBytes(nonce: number, { hash, rawTransaction }: SignedTransaction, fees: Fees, clock: Clock): SignedBytes {
  return { nonce, hash, rawTransaction, fees, signedAt: toInstant(clock()) }
}

function foreignSender(sender: string | null, address: string): string {
  return sender === null
    ? 'the signer returned bytes of another transaction'
    : `the signer's key has the address ${sender}, but the wallet has ${address}: check that this is the keystore that created the wallet`
}

/** The first transaction gets this nonce; its previous one goes to the others in order. */
function withFirst(nonces: readonly number[], nonce: number): number[] {
  return [nonce, ...nonces.filter((other) => other !== nonce)].slice(0, nonces.length)
}
