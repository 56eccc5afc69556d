/**
 * The addresses that transactions of a block, their call data and their logs may name: whose balances are compared where no node traces it. Pure.
 *
 * A batch of payments names those whom it pays. An address is found before or behind 12 zero bytes: as an argument (ABI), in
 * the call data inside of an argument, and packed before an amount (the batches of Safe). A contract that pays from a list in its
 * storage names nobody, and the reconciliation finds what it paid.
 */
import type { Block } from '../../chain/blocks.ts'

/** More than a block of 100 M gas has room for, at 16 gas for a byte (EIP-2028) and three times as many with EIP-7623. */
const MAX_ADDRESSES = 200_000
const ZEROS = /0{24,}/g
const DIGITS = 40

/** In lower case. Most of them are no address that anybody has. */
export function namedAddresses({ transactions }: Pick<Block, 'transactions'>): ReadonlySet<string> {
  const named = new Set<string>()
  for (const { status, from, to, input, logs } of transactions) {
    if (status !== 'success') continue
    named.add(from)
    if (to !== null) named.add(to)
    addFrom(input, named)
    for (const { topics, data } of logs) {
      addFrom(data, named)
      for (const topic of topics) addFrom(topic, named)
    }
  }
  return named
}

function addFrom(hex: string, named: Set<string>): void {
  const text = hex.slice(2)
  for (const { 0: zeros, index } of text.matchAll(ZEROS)) {
    if (named.size >= MAX_ADDRESSES) return
    const end = index + zeros.length
    // Half a byte of zeros belongs to the address, and so may a whole one.
    const behind = end - (end % 2)
    const before = index + (index % 2) - DIGITS
    for (const start of [behind, behind - 2, before, before + 2])
      if (start >= 0 && start + DIGITS <= text.length) named.add(`0x${text.slice(start, start + DIGITS)}`)
  }
}
