/**
 * Finds what used a nonce of an account: a transaction that the account sent, or an authorization that it signed
 * (EIP-7702) and anybody sent. The proof is in a block, which every node keeps. The log or the follower's records name
 * the block; otherwise it is found by binary search, for which nodes must have the states of the blocks in between.
 *
 * Invariant: a quorum names the hash of the block, what stands in it follows from that hash, and who sent it from its
 * signature. No node alone can make a nonce used, or one of our transactions something else.
 */
import { readProvenBlock } from '../chain/agreed-block.ts'
import type { Nodes } from '../chain/agreement.ts'
import { type Authorization, readAuthorizations } from '../chain/authorizations.ts'
import { type FeeOffer, readOffer } from '../chain/blocks.ts'
import { readCount, readLower } from '../chain/hex.ts'
import { keccakHex } from '../chain/ordered-root.ts'
import { isSame, senderOf, transactionBytes, typeOf } from '../chain/transaction-bytes.ts'
import { agreedCounts } from '../chain/transaction-counts.ts'
import { Unavailable } from '../core/errors.ts'
import { authorityOf } from '../keys/authority-of.ts'
import { sameHex } from '../keys/coverage.ts'
import { HALF_ORDER } from '../keys/recover-signer.ts'
import { recoveredAddress } from '../keys/recovered-address.ts'

/** A transaction in a block. */
export type Consumer = {
  readonly kind: 'transaction' | 'authorization'
  readonly nonce: number
  readonly hash: string
  readonly blockNumber: number
  readonly blockHash: string
  /** Seconds since the epoch. */
  readonly timestamp: number
  /** The content of the transaction; one with an authorization may have any sender. */
  readonly to: string | null
  readonly value: bigint
  readonly input: string
  readonly offer: FeeOffer | null
}

export type AccountNonce = { readonly chainId: number; readonly address: string; readonly nonce: number }

const SET_CODE_TYPE = '0x4'

type Raw = Readonly<Record<string, unknown>>

/**
 * What used the nonce in this block; `null` when nothing there did, or there is no such block. A transaction counts only if
 * its fields have its hash and the signature of the account, whoever a node says has sent it.
 *
 * An authorization alone is no proof: one with a wrong nonce had no effect. It counts when the account's transaction
 * count is past the nonce and none of the recorded versions has a receipt.
 *
 * @param hash where the block is named by its hash too: another one of this number is not looked at
 * @throws Unavailable, also when no quorum names the block, or no node shows what has its hash
 */
export async function consumerIn(
  client: Nodes,
  account: AccountNonce,
  block: number,
  hash: string | null = null,
): Promise<Consumer | null> {
  const raw = await readProvenBlock(client, block)
  if (raw === null || (hash !== null && !sameHex(raw.hash, hash))) return null
  const transactions = Array.isArray(raw.transactions) ? (raw.transactions as Raw[]) : []
  const sent = transactions.find((transaction) => isSent(transaction, account))
  const found = sent ?? transactions.find((transaction) => isAuthorized(transaction, account))
  if (found === undefined) return null
  return {
    kind: sent === undefined ? 'authorization' : 'transaction',
    nonce: account.nonce,
    hash: readLower(found.hash, 'a transaction hash'),
    blockNumber: block,
    blockHash: readLower(raw.hash, 'a block hash'),
    timestamp: readCount(raw.timestamp, 'a timestamp'),
    to: typeof found.to === 'string' ? found.to : null,
    value: BigInt(String(found.value)),
    // A node may leave out what is empty: the hash is the same.
    input: readLower(found.input ?? '0x', 'call data'),
    offer: readOffer(found),
  }
}

/**
 * Binary search for the block, by counts that a quorum agrees on.
 *
 * @param highest a block at which the nonce is used; the search begins there and widens downwards
 * @returns `null` when the nonce is used and no block shows what used it: that proves nothing
 * @throws Unavailable, or ChainRefused when nodes no longer have the state of a block
 */
export async function findConsumer(client: Nodes, account: AccountNonce, highest: number): Promise<Consumer | null> {
  const { address, nonce } = account
  const isUsedAt = async (block: number): Promise<boolean> => {
    const [count = 0] = await agreedCounts(client, [address], block)
    return count > nonce
  }
  // Invariant: the nonce is used at `used`, and is not at `unused`.
  let used = highest
  let unused = highest
  for (let width = 1; unused === used; width *= 2) {
    const below = Math.max(0, used - width)
    if (!(await isUsedAt(below))) unused = below
    else if (below === 0) return null
    else [used, unused] = [below, below]
  }
  while (used - unused > 1) {
    const middle = Math.floor((used + unused) / 2)
    if (await isUsedAt(middle)) used = middle
    else unused = middle
  }
  return consumerIn(client, account, used)
}

/**
 * The blocks in which nodes say that these transactions are. Every node is asked, and one is enough to name a block: what is
 * in it has to be proven.
 *
 * @throws Unavailable when fewer nodes answer than a quorum
 */
async function blocksOf({ nodes, quorum }: Nodes, hashes: readonly string[]): Promise<readonly number[]> {
  const requests = hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
  const answers = await Promise.all(nodes().map((node) => node.batch(requests)))
  const complete = answers.filter((results) => results.every(({ ok }) => ok))
  if (complete.length < Math.min(quorum.needed, answers.length))
    throw new Unavailable('no_quorum', `${complete.length} of ${answers.length} nodes say whether they have receipts.`)
  const named = answers.flat().flatMap((result) => {
    const block = result.ok ? (result.value as Raw | null)?.blockNumber : undefined
    return typeof block === 'string' && /^0x[0-9a-f]{1,13}$/i.test(block) ? [Number(block)] : []
  })
  return [...new Set(named)].sort((a, b) => a - b)
}

/**
 * A transaction of ours in a block that any node names.
 *
 * @param highest blocks above it are not looked at
 * @throws Unavailable
 */
export async function ownConsumer(
  client: Nodes,
  account: AccountNonce,
  own: readonly string[],
  highest: number,
): Promise<Consumer | null> {
  for (const block of await blocksOf(client, own)) {
    const consumer = block <= highest ? await consumerIn(client, account, block) : null
    if (consumer !== null && own.some((hash) => sameHex(hash, consumer.hash))) return consumer
  }
  return null
}

/** Whether an authorization is valid for this chain. */
export function isForChain({ chainId }: Authorization, chain: number): boolean {
  return chainId === 0n || chainId === BigInt(chain)
}

function isSent(transaction: Raw, { chainId, address, nonce }: AccountNonce): boolean {
  if (readCount(transaction.nonce, 'a nonce') !== nonce) return false
  try {
    // Read as the proof of the block reads it: no way to write its fields hides it.
    const isWhole = isSame(transaction.hash, keccakHex(transactionBytes(transaction)))
    return isWhole && isSignedFor(transaction, chainId) && sameHex(senderOf(transaction, recoveredAddress), address)
  } catch {
    return false // Not the fields of a transaction.
  }
}

/** EIP-155: before it, a signature named no chain. EIP-2: one of the two signatures of a key. */
function isSignedFor(transaction: Raw, chainId: number): boolean {
  if (BigInt(String(transaction.s)) > HALF_ORDER) return false
  if (typeOf(transaction) > 0) return BigInt(String(transaction.chainId)) === BigInt(chainId)
  const v = BigInt(String(transaction.v))
  return v < 35n || (v - 35n) / 2n === BigInt(chainId)
}

function isAuthorized(transaction: Raw, { chainId, address, nonce }: AccountNonce): boolean {
  // Under no hash are authorizations that a node adds to a transaction of another type.
  if (transaction.type !== SET_CODE_TYPE) return false
  return readAuthorizations(transaction).some(
    (item) => item.nonce === BigInt(nonce) && isForChain(item, chainId) && sameHex(authorityOf(item), address),
  )
}
