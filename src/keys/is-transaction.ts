/** Whether the fields that a node shows are those of a transaction with this hash and sender, whatever its type. */
import { Transaction, type TransactionLike } from 'ethers'
import { sameHex } from './coverage.ts'

type Raw = Readonly<Record<string, unknown>>

/** @param raw the fields as eth_getTransactionByHash returns them */
export function isTransaction(
  raw: Raw,
  { hash, from, chainId }: { readonly hash: string; readonly from: string; readonly chainId: number },
): boolean {
  const { nonce, gas: gasLimit, input: data, value, r, s, accessList, maxFeePerBlobGas, blobVersionedHashes } = raw
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas, authorizationList } = raw
  const type = Number(raw.type)
  // EIP-155: before it, a signature named no chain.
  const isUnprotected = type === 0 && Number(raw.v) < 35
  try {
    const transaction = Transaction.from({
      ...{ type, to: raw.to ?? null, nonce, gasLimit, data, value, chainId: isUnprotected ? 0 : chainId },
      ...(type < 2 ? { gasPrice } : { maxFeePerGas, maxPriorityFeePerGas }),
      ...(type === 0 ? {} : { accessList }),
      ...(type === 3 ? { maxFeePerBlobGas, blobVersionedHashes } : {}),
      ...(type === 4 ? { authorizationList: authorizationsOf(authorizationList) } : {}),
      signature: { r, s, ...(raw.yParity === undefined ? { v: raw.v } : { yParity: Number(raw.yParity) }) },
    } as TransactionLike<string>)
    return sameHex(transaction.hash, hash) && sameHex(transaction.from, from)
  } catch {
    return false // Not the fields of a transaction.
  }
}

function authorizationsOf(list: unknown): unknown {
  if (!Array.isArray(list)) return undefined
  return list.map(({ address, nonce, chainId, r, s, yParity, v }) => ({
    ...{ address, nonce: BigInt(nonce), chainId: BigInt(chainId) },
    signature: { r, s, yParity: Number(yParity ?? v) },
  }))
}
