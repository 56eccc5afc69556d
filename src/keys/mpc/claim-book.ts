/** The in-memory index of a signing journal's claims: by nonce, and by transaction. */

/** A transaction signed with a nonce of an address. */
export type ClaimEntry = {
  readonly transactionId: string
  readonly chainId: number
  /** Lower case. */
  readonly address: string
  readonly nonce: number
}

export type ClaimResult =
  | { readonly granted: true }
  /**
   * The nonce is claimed by `transactionId`. If that transaction has ended according to the log, forget it and claim
   * again.
   */
  | { readonly granted: false; readonly reason: 'nonce_used'; readonly transactionId: string }
  /** The transaction was signed with `nonce`, which is not known to be lost. */
  | { readonly granted: false; readonly reason: 'transaction_used'; readonly nonce: number }
  /** The party has signed as many fillers for the wallet as it does in an hour. */
  | { readonly granted: false; readonly reason: 'too_many_fillers' }
  /** The party has helped to spend what a limit of the policy allows. */
  | { readonly granted: false; readonly reason: 'over_limit' }

export type ClaimBook = ReturnType<typeof createClaimBook>

export function createClaimBook() {
  /** The last entry owns the nonce; entries before it belong to transactions that the log no longer has. */
  const byNonce = new Map<string, ClaimEntry[]>()
  const byTransaction = new Map<string, Set<ClaimEntry>>()
  /** By chain and address. Never decreases, even when entries are forgotten. */
  const highest = new Map<string, number>()
  let size = 0
  const holderOf = (entry: Omit<ClaimEntry, 'transactionId'>) => byNonce.get(keyOf(entry))?.at(-1)

  function leave(entry: ClaimEntry): void {
    const before = byNonce.get(keyOf(entry)) ?? []
    const left = before.filter((other) => other !== entry)
    size -= before.length - left.length
    if (left.length === 0) byNonce.delete(keyOf(entry))
    else byNonce.set(keyOf(entry), left)
  }

  return {
    size: () => size,
    entries: (): readonly ClaimEntry[] => [...byNonce.values()].flat(),
    transactions: (): readonly string[] => [...byTransaction.keys()],
    noncesOf: (transactionId: string): readonly number[] =>
      [...(byTransaction.get(transactionId) ?? [])].map(({ nonce }) => nonce),
    /** The highest nonce of an address that was ever claimed; -1 for none. */
    highestOf: (chainId: number, address: string): number => highest.get(`${chainId}:${address.toLowerCase()}`) ?? -1,
    knows: (transactionId: string) => byTransaction.has(transactionId),
    has: (entry: ClaimEntry) => holderOf(entry)?.transactionId === entry.transactionId,
    /** The transaction that was signed with a nonce; `null` for none. */
    holderOf: (nonce: Omit<ClaimEntry, 'transactionId'>): string | null => holderOf(nonce)?.transactionId ?? null,

    /**
     * @param released nonces of the same address that the transaction lost
     * @param overtaken transactions whose claims do not block others
     */
    judge(entry: ClaimEntry, released: readonly number[], overtaken: readonly string[] = []): ClaimResult {
      const holder = holderOf(entry)
      const isOthers = holder !== undefined && holder.transactionId !== entry.transactionId
      if (isOthers && !overtaken.includes(holder.transactionId)) {
        return { granted: false, reason: 'nonce_used', transactionId: holder.transactionId }
      }
      for (const other of byTransaction.get(entry.transactionId) ?? []) {
        const elsewhere = other.chainId !== entry.chainId || other.address !== entry.address
        if (elsewhere || (other.nonce !== entry.nonce && !released.includes(other.nonce))) {
          return { granted: false, reason: 'transaction_used', nonce: other.nonce }
        }
      }
      return { granted: true }
    },

    add(entry: ClaimEntry): void {
      byNonce.set(keyOf(entry), [...(byNonce.get(keyOf(entry)) ?? []), entry])
      size += 1
      const lane = `${entry.chainId}:${entry.address}`
      highest.set(lane, Math.max(entry.nonce, highest.get(lane) ?? -1))
      const others = byTransaction.get(entry.transactionId)
      if (others === undefined) byTransaction.set(entry.transactionId, new Set([entry]))
      else others.add(entry)
    },

    remove(entry: ClaimEntry): void {
      leave(entry)
      const others = byTransaction.get(entry.transactionId)
      others?.delete(entry)
      if (others?.size === 0) byTransaction.delete(entry.transactionId)
    },

    forget(transactionId: string): void {
      for (const entry of byTransaction.get(transactionId) ?? []) leave(entry)
      byTransaction.delete(transactionId)
    },
  }
}

function keyOf({ chainId, address, nonce }: Omit<ClaimEntry, 'transactionId'>): string {
  return `${chainId}:${address}:${nonce}`
}
