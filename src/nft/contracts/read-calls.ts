/** What call data for a collection mints or moves. Pure. */
import type { TransactionDescription } from 'ethers/abi'
import { COLLECTION_ABI } from './artefact.ts'

/** A token and who gets it; the address is in lower case. */
export type TokenTo = { readonly tokenId: bigint; readonly to: string }

/** The tokens that a mint by the owner, or a redemption, creates; empty for any other call. */
export function readMinted(data: string): readonly TokenTo[] {
  return tokensIn(data, ({ name, args }) => {
    if (name === 'mint') return [tokenTo(args[1], args[0])]
    if (name === 'redeem') return [tokenTo(args[0][0], args[2])]
    if (name !== 'mintBatch') return []
    const firstId = BigInt(args[0])
    return [...args[1]].map((to, n) => tokenTo(firstId + BigInt(n), to))
  })
}

/** The tokens that a transfer moves; empty for any other call. */
export function readTransferred(data: string): readonly TokenTo[] {
  return tokensIn(data, ({ name, args }) => {
    if (name === 'transferFrom' || name === 'safeTransferFrom') return [tokenTo(args[2], args[1])]
    if (name === 'safeBatchTransferFrom') return [...args[2]].map((tokenId) => tokenTo(tokenId, args[1]))
    return []
  })
}

/**
 * Empty for call data without the arguments of its function. Whoever signs reads the function alone, and a call of an
 * address without code succeeds with any: it must not stop who reads the block.
 */
function tokensIn(data: string, read: (call: TransactionDescription) => readonly TokenTo[]): readonly TokenTo[] {
  try {
    const call = parse(data)
    return call === null ? [] : read(call)
  } catch {
    return []
  }
}

function tokenTo(tokenId: bigint, to: string): TokenTo {
  return { tokenId: BigInt(tokenId), to: to.toLowerCase() }
}

function parse(data: string) {
  for (const abi of Object.values(COLLECTION_ABI)) {
    const call = abi.parseTransaction({ data })
    if (call !== null) return call
  }
  return null
}
