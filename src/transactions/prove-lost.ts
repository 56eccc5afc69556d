/**
 * Proves that a transaction lost its nonce. The log records this with `NonceConsumedExternally`, but anybody who can
 * write to the log can append that event; so before signing the transaction with another nonce, the signer checks the
 * chain: the old nonce must be used, with enough confirmations, by a transaction that is not one of its own versions
 * and does something else. The block has the hash that a quorum of this process's own nodes names; the event is a claim.
 */
import { LRUCache } from 'lru-cache'
import type { Nodes } from '../chain/agreement.ts'
import type { ChainSettings } from '../chain/settings.ts'
import { agreedCounts } from '../chain/transaction-counts.ts'
import { atMost } from '../core/at-most.ts'
import { ChainRefused } from '../core/errors.ts'
import { sameHex } from '../keys/coverage.ts'
import { buildCall, type Call } from './build-call.ts'
import { type AccountNonce, type Consumer, consumerIn, findConsumer, ownConsumer } from './find-consumer.ts'
import { readSigned } from './read-signed.ts'
import type { KnownTransaction, TakenIn } from './state.ts'
import { readTag, type TagKeys, tagsOf } from './tags.ts'

/** Cached proofs stay valid: the blocks were final. */
const REMEMBERED = 10_000

type Provable = Pick<ChainSettings, 'confirmations' | 'finalizes'> & { readonly client: Nodes }

/**
 * Checks every nonce that the log records as lost.
 *
 * @returns what is not proven, or `null` when the transaction has lost all of them
 * @throws Unavailable when no node answers: retry later
 */
export type ProveLost = (transaction: KnownTransaction, id: string) => Promise<string | null>

export function createProveLost({
  chainOf,
  keys,
}: {
  /** `null` for a chain that is not configured here. */
  readonly chainOf: (chainId: number) => Provable | null
  /** `null` for a reader that signs nothing: it believes the log. */
  readonly keys: TagKeys | null
}): ProveLost {
  const proven = new LRUCache<string, true>(atMost(REMEMBERED))

  /** What does the same is another program's if the log says so and its bytes do not have the tag of this transaction. */
  async function isForeign(
    client: Nodes,
    { hash }: Consumer,
    id: string,
    transaction: KnownTransaction,
  ): Promise<boolean> {
    const { chainId, from } = transaction.intent
    if (!transaction.rejected.includes(hash)) return false
    const bytes = keys === null ? 'foreign' : await readSigned(client, { hash, from, chainId })
    if (keys === null || bytes === 'foreign') return true
    return bytes !== null && !tagsOf(keys, { id, transaction }, 'send').includes(readTag(bytes.fees))
  }

  return async (transaction, id) => {
    const { chainId, from } = transaction.intent
    for (const [nonce, takenIn] of new Map(transaction.abandoned.map((attempt) => [attempt.nonce, attempt.takenIn]))) {
      const call = buildCall(transaction.intent)
      const name = `${id} ${chainId} ${from} ${nonce} ${call.to} ${call.value} ${call.data}`
      if (proven.has(name)) continue
      const chain = chainOf(chainId)
      if (chain === null)
        return `no node of chain ${chainId} is configured to prove that nonce ${nonce} is lost: set the RPC URLs of its network for this process`
      const own = transaction.abandoned.filter((attempt) => attempt.nonce === nonce).map(({ hash }) => hash)
      const taker = await takerOf(chain, { chainId, address: from, nonce }, takenIn, own)
      if (typeof taker === 'string') return taker
      if (
        taker.kind === 'transaction' &&
        isCall(taker, call) &&
        !(await isForeign(chain.client, taker, id, transaction))
      )
        return `nonce ${nonce} was used by this transaction itself: it is mined`
      if (transaction.abandoned.some(({ hash }) => sameHex(hash, taker.hash)))
        return `nonce ${nonce} was used by a version of this transaction`
      proven.set(name, true)
    }
    return null
  }
}

/**
 * What used a nonce, or why it is not known.
 *
 * @param takenIn the block that the log names; the block itself is the proof
 */
async function takerOf(
  { client, confirmations, finalizes = false }: Provable,
  account: AccountNonce,
  takenIn: TakenIn | null,
  own: readonly string[],
): Promise<Consumer | string> {
  const missing = `the chain does not show that another transaction used nonce ${account.nonce}`
  const ours = `nonce ${account.nonce} was used by a version of this transaction`
  try {
    const head = await client.newest('latest')
    // Where blocks become final, a second payment is signed only when the first one can never be.
    const final = finalizes ? await client.newest('finalized') : head
    const deep = Math.max(0, Math.min(final.number, head.number - confirmations))
    const isDeep = takenIn !== null && takenIn.number <= deep
    const named = isDeep ? await consumerIn(client, account, takenIn.number, takenIn.hash) : null
    if (named?.kind !== 'transaction') {
      // An authorization in a block may not have used the nonce.
      const [used = 0] = await agreedCounts(client, [account.address], deep)
      if (used <= account.nonce) return missing
    }
    if ((await ownConsumer(client, account, own, head.number)) !== null) return ours
    return named ?? (await findConsumer(client, account, deep)) ?? missing
  } catch (error) {
    if (error instanceof ChainRefused) return `${missing}: ${error.message}`
    throw error
  }
}

function isCall(taker: Consumer, { to, value, data }: Call): boolean {
  return sameHex(taker.to, to) && taker.value === value && sameHex(taker.input, data)
}
