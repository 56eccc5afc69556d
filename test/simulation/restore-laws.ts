/** The laws of histories with restores: each payment counts for one request, and each request is paid at most once. */
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { Service } from './clients.ts'
import type { World } from './terms.ts'
import type { eventsOf, Truth } from './truth.ts'

/** Checked with each append: what is recorded of the chain was signed for the request that it is recorded for. */
export function checkAppended({ broken }: World, truth: Truth, events: ReturnType<typeof eventsOf>): void {
  for (const { id, type, data } of events) {
    const isRecovered = data.recovered === true
    if (!isRecovered && type !== 'TransactionMined') continue
    const wire = truth.wireOf(String(data.hash))
    if (wire === undefined || !truth.isOf(wire, id))
      broken(
        `${id} counts ${String(data.hash).slice(-6)} as its own, which ${wire?.signedFor ?? 'another program'} signed`,
      )
  }
}

/**
 * Cancelled while the log had no signature of it: the signature that it had forgotten may be mined all the same. README:
 * "Not guaranteed".
 */
function isCancelledUnsigned({ streams }: World['store'], id: string): boolean {
  const cancelled = streams.get(`transaction-${id}`)?.findLast(({ type }) => type === 'TransactionCancelled')
  return (cancelled?.data as { readonly hash: string | null } | undefined)?.hash === null
}

/** Checked at rest. */
export function checkPayments({ store, chain, broken }: World, { truth, facts }: Service, isOld: boolean): void {
  const mined = chain.blocks().flatMap(({ transactions }) => transactions)
  const payments = new Map<string, number>()
  for (const { signedFor, to, from } of mined) {
    if (signedFor === null || to === from) continue
    const name = truth.nameOf(signedFor)
    payments.set(name, (payments.get(name) ?? 0) + 1)
  }
  for (const [name, count] of payments) if (count > 1) broken(`${name} is paid ${count} times`)
  const counted = new Map<string, string>()
  for (const [id, { state, hash }] of store.transactions) {
    const paid = payments.get(truth.nameOf(id)) ?? 0
    if (state === 'confirmed') {
      if (!truth.orderOf.has(id)) continue
      if (paid !== 1 || !mined.some((wire) => wire.hash === hash)) broken(`${id} is reported confirmed and not paid`)
      const other = counted.get(String(hash))
      if (other !== undefined) broken(`${id} and ${other} count the same transaction`)
      counted.set(String(hash), id)
    } else if (paid > 0 && truth.orderOf.has(id) && !(state === 'cancelled' && isCancelledUnsigned(store, id)))
      broken(`${id} is ${state} and paid`)
  }
  if (!isOld && facts.held.size > 0) broken(`${[...facts.held].join(', ')} was held though every signature has a tag`)
  for (const [streamId, events] of store.streams)
    if (
      !isOld &&
      streamId.startsWith(transactionAggregate.category) &&
      events.some(({ type }) => type === 'LookalikeHeld')
    )
      broken(`${streamId} is held`)
}
