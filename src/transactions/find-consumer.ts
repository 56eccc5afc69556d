/**
 * Finds what used a nonce of an account: a transaction that the account sent, or an authorization that it signed
 * (EIP-7702) and anybody sent. The proof is in a block, which every node keeps. The log or the follower's records name
 * the block; otherwise it is found by binary search, for which the node must have the states of the blocks in between.
 */
import { type Authorization, readAuthorizations } from '../chain/authorizations.ts'
import { type FeeOffer, readOffer } from '../chain/blocks.ts'
import { readCount, readLower, toQuantity } from '../chain/hex.ts'
import { type RpcReader, resultValue, rpcCall } from '../chain/json-rpc.ts'
import { authorityOf } from '../keys/authority-of.ts'
import { sameHex } from '../keys/coverage.ts'
import { isTransaction } from '../keys/is-transaction.ts'

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

type Raw = Readonly<Record<string, unknown>>

/**
 * What used the nonce in this block; `null` when the node shows nothing there. A transaction counts only if its fields have
 * its hash and the signature of the account: no node can make one.
 *
 * An authorization alone is no proof: one with a wrong nonce had no effect. It counts when the account's transaction
 * count is past the nonce and none of the recorded versions has a receipt.
 *
 * @throws Unavailable
 */
export async function consumerIn(client: RpcReader, account: AccountNonce, block: number): Promise<Consumer | null> {
  const raw = (await rpcCall(client, 'eth_getBlockByNumber', [toQuantity(block), true])) as Raw | null
  const transactions = Array.isArray(raw?.transactions) ? (raw.transactions as Raw[]) : []
  const sent = transactions.find((transaction) => isSent(transaction, account))
  const found = sent ?? transactions.find((transaction) => isAuthorized(transaction, account))
  if (raw === null || found === undefined) return null
  return {
    kind: sent === undefined ? 'authorization' : 'transaction',
    nonce: account.nonce,
    hash: readLower(found.hash, 'a transaction hash'),
    blockNumber: block,
    blockHash: readLower(raw.hash, 'a block hash'),
    timestamp: readCount(raw.timestamp, 'a timestamp'),
    to: typeof found.to === 'string' ? found.to : null,
    value: BigInt(String(found.value)),
    input: String(found.input),
    offer: readOffer(found),
  }
}

/**
 * Binary search for the block.
 *
 * @param highest a block at which the nonce is used; the search begins there and widens downwards
 * @returns `null` when the node reports the nonce as used but shows nothing that used it: that proves nothing
 * @throws Unavailable, or ChainRefused when the node no longer has the state of a block
 */
export async function findConsumer(
  client: RpcReader,
  account: AccountNonce,
  highest: number,
): Promise<Consumer | null> {
  const { address, nonce } = account
  const isUsedAt = async (block: number): Promise<boolean> => {
    const count = await rpcCall(client, 'eth_getTransactionCount', [address, toQuantity(block)])
    return readCount(count, 'a transaction count') > nonce
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

/** The block of each mined transaction that the node knows; others are missing. @throws Unavailable */
export async function blocksOf(client: RpcReader, hashes: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const answers = await client.batch(hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })))
  const found = hashes.flatMap((hash, index) => {
    const receipt = resultValue(answers[index], 'eth_getTransactionReceipt') as Raw | null
    return receipt === null ? [] : [[hash, readCount(receipt.blockNumber, 'a block number')] as const]
  })
  return new Map(found)
}

/** Whether an authorization is valid for this chain. */
export function isForChain({ chainId }: Authorization, chain: number): boolean {
  return chainId === 0n || chainId === BigInt(chain)
}

function isSent(transaction: Raw, { chainId, address, nonce }: AccountNonce): boolean {
  if (!sameHex(transaction.from, address) || readCount(transaction.nonce, 'a nonce') !== nonce) return false
  return isTransaction(transaction, { hash: String(transaction.hash), from: address, chainId })
}

function isAuthorized(transaction: Raw, { chainId, address, nonce }: AccountNonce): boolean {
  return readAuthorizations(transaction).some(
    (item) => item.nonce === BigInt(nonce) && isForChain(item, chainId) && sameHex(authorityOf(item), address),
  )
}
