/**
 * Commits that wait for a database lock, separate from all others: one line for each wallet, one commit at a time.
 *
 * Invariant: while one session keeps a wallet's row locked, commits of other wallets do not wait for it. At most they
 * meet it once, for one lock timeout, until its line exists.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createInTurn } from '../core/in-turn.ts'

/** Connections that lines may use at the same time; the rest of the pool stays available to others. */
const LINES_AT_ONCE = 2
/** Short: the attempt has already waited for the lock. */
const PAUSE_MS = 100

export type LineItem = { readonly wallets: readonly string[]; readonly name: string }

export type LockedLines<Item extends LineItem> = {
  /**
   * Adds a commit to the line of one of its wallets, if there is one. @returns false when the commit waits for no lock
   */
  readonly join: (item: Item) => boolean
  /** Opens a line for a commit that had to wait for a lock. */
  readonly open: (item: Item) => void
}

/**
 * @param send tries once and returns the outcome; never rejects
 * @param giveBack receives commits that may rejoin the others: a commit of their wallet was answered, so the lock is
 *   free
 */
export function createLockedLines<Item extends LineItem>(
  send: (item: Item) => Promise<'answered' | 'given_up' | 'again'>,
  giveBack: (items: readonly Item[]) => void,
): LockedLines<Item> {
  const lines = new Map<string, { readonly items: Item[]; readonly slot: string; isRunning: boolean }>()
  const inTurn = createInTurn()
  let opened = 0

  async function run(name: string): Promise<void> {
    const line = lines.get(name)
    if (line === undefined || line.isRunning) return
    line.isRunning = true
    for (let [first] = line.items; first !== undefined; [first] = line.items) {
      const item = first
      const outcome = await inTurn(line.slot, () => send(item))
      if (outcome === 'again') await delay(PAUSE_MS)
      else line.items.shift()
      if (outcome !== 'answered') continue
      lines.delete(name)
      giveBack(line.items)
      return
    }
    // All its commits were given up. The line stays known, so that the next commit of the wallet delays nobody else.
    line.isRunning = false
  }

  function put(name: string, item: Item): void {
    if (!lines.has(name)) {
      opened += 1
      lines.set(name, { items: [], slot: `slot ${opened % LINES_AT_ONCE}`, isRunning: false })
    }
    lines.get(name)?.items.push(item)
    void run(name)
  }

  const lineOf = ({ wallets }: Item) => wallets.find((wallet) => lines.has(wallet))
  return {
    join(item) {
      const name = lineOf(item)
      if (name !== undefined) put(name, item)
      return name !== undefined
    },
    open: (item) => put(lineOf(item) ?? item.wallets[0] ?? item.name, item),
  }
}
