/**
 * What the consensus of Polygon brings over from Ethereum. Before PIP-74 nodes show it as a transaction and a receipt at
 * the end of the block, which are in none of its roots. (Bor, core/types/bor_receipt.go)
 */
import { keccakHex } from './ordered-root.ts'
import { bytesOf, NOBODY, numberOf, type Raw } from './transaction-bytes.ts'

const PREFIX = Buffer.from('matic-bor-receipt-')
const NUMBER_LENGTH = 8

/** Whether a transaction is one that nodes of Polygon show although no root has it: whatever they say of it is unproven. */
export function isOutsideRoots(block: Raw, { from, to, hash }: Raw): boolean {
  return from === NOBODY && to === NOBODY && typeof hash === 'string' && hash.toLowerCase() === hashOutsideRoots(block)
}

/** It names its block, whose hash can therefore not depend on it. */
function hashOutsideRoots(block: Raw): string {
  const number = Buffer.alloc(NUMBER_LENGTH)
  const digits = numberOf(block.number, 'number')
  number.set(digits, NUMBER_LENGTH - digits.length)
  return keccakHex(Buffer.concat([PREFIX, number, bytesOf(block.hash, 'hash')]))
}
