/**
 * An operator's decision on a request that is held because a transaction on chain may be its forgotten signature. It is
 * an event of the request, and nobody decides twice: of two appends to its stream one is refused.
 *
 * Invariant: a decision holds for the transaction that the operator looked at, and for no other that the request is held
 * for since.
 */
import type { Nodes } from '../chain/agreement.ts'
import type { Context } from '../context.ts'
import { Conflict, NotFound } from '../core/errors.ts'
import { mustDecideOn } from '../event-log/aggregate.ts'
import type { Fence } from '../event-log/leases.ts'
import type { EventLog } from '../event-log/log.ts'
import { sameHex } from '../keys/coverage.ts'
import { transactionAggregate } from './aggregate.ts'
import { purposeOf } from './content.ts'
import type { TransactionCommand } from './decider.ts'
import type { Lookalike } from './events.ts'
import { type Lane, laneName } from './lanes.ts'
import { readSigned } from './read-signed.ts'
import { isUnmined, type KnownTransaction } from './state.ts'

/** `claim`: the transaction on chain is this request. `new`: it is not, and the request is signed. */
export type Verdict = 'claim' | 'new'

type ClientOf = (chainId: number) => Nodes

export type Judged = { readonly transactionId: string; readonly verdict: Verdict } & Lookalike

/**
 * @param hash the transaction on chain that was looked at
 * @throws NotFound for an unknown transaction; Conflict `not_held`, also when it is held for another hash, `cannot_claim`
 *   when the chain shows that it is not this request, `signer_required`, `lane_busy`; Unavailable
 */
export async function judgeLookalike(
  ctx: Pick<Context, 'log'> & {
    readonly clientOf: ClientOf
    /** Runs a task under a lease. @throws Conflict `lane_busy` while another process has it */
    readonly withLane: <T>(lane: Lane, task: (lease: Fence) => Promise<T>) => Promise<T>
  },
  transactionId: string,
  verdict: Verdict,
  hash: string,
): Promise<Judged> {
  const { log } = ctx
  const { intent, held } = await loadHeld(log, transactionId, hash)
  const lane: Lane = { chainId: intent.chainId, address: intent.from }
  return ctx.withLane(lane, async (lease) => {
    let judged = held
    await log.commit(
      async () => {
        const { loaded, transaction, held } = await loadHeld(log, transactionId, hash)
        judged = held
        const now = log.now()
        const command: TransactionCommand =
          verdict === 'new'
            ? { type: 'RejectLookalike', hash: held.hash, nonce: held.nonce, by: 'operator', now }
            : await claim(ctx.clientOf, log.now(), lane, transaction, held)
        const metadata = { tenantId: intent.tenantId, actor: 'operator', causationId: laneName(lane) }
        return [mustDecideOn(transactionAggregate, loaded, command, { metadata, now })]
      },
      { fence: lease },
    )
    return { transactionId, verdict, ...judged }
  })
}

async function loadHeld(log: EventLog, transactionId: string, hash: string) {
  const [checked] = await log.loadChecked(transactionAggregate, [transactionId])
  if (checked === undefined || checked.state.state === 'unknown') throw new NotFound('transaction')
  const { state: transaction, broken } = checked
  if (broken !== null)
    throw new Conflict('not_as_recorded', `${transactionId}: ${broken}. See npm run bursar -- audit verify.`)
  const { held, intent } = transaction
  if (held === null || !isUnmined(transaction))
    throw new Conflict('not_held', `${transactionId} is not held: no transaction on chain must be compared with it.`)
  if (!sameHex(held.hash, hash))
    throw new Conflict('not_held', `${transactionId} is held for ${held.hash} now, not for ${hash}: look that one up.`)
  return { loaded: checked, transaction, held, intent }
}

/** The bytes from a node, whose hash, sender and effect are checked. */
async function claim(
  clientOf: ClientOf,
  now: string,
  { chainId, address }: Lane,
  transaction: KnownTransaction,
  { hash }: Lookalike,
): Promise<TransactionCommand> {
  const bytes = await readSigned(clientOf(chainId), { hash, from: address, chainId })
  if (bytes === null)
    throw new Conflict('cannot_claim', `No node returns ${hash} now: add a node that has it, and try again.`)
  if (bytes === 'foreign')
    throw new Conflict('cannot_claim', `${hash} is of a type that Bursar never signs: use --new.`)
  const { content, ...shown } = bytes
  const signed = { ...shown, signedAt: now }
  const newest = transaction.attempts.at(-1)
  const purpose = purposeOf(transaction, content)
  // A first signature is the payment; later bytes have its nonce, and may cancel it.
  const fits = newest === undefined ? purpose === 'bump' : newest.nonce === signed.nonce
  if (purpose === null || !fits)
    throw new Conflict(
      'cannot_claim',
      `${hash} does something else than this request: use --new, or cancel the request.`,
    )
  return newest === undefined
    ? { type: 'RecordSignature', signed, recovered: true, claimed: true }
    : { type: 'RecordReplacement', signed, purpose, recovered: true, claimed: true }
}
