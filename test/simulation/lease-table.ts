/** The leases of the in-memory store: a lease ends with the start of the server under which it was taken. */
/** `start`: of the server under which it was taken. */
export type LeaseRow = { holder: string | null; fence: bigint; expiresAt: number; wanted: boolean; start: number }

/** A lease that nobody has taken. */
const NEVER = -1

/** The three functions of the leases' table. */
export function leaseTable(rows: Map<string, LeaseRow>, now: () => number, start: () => number) {
  const isHeld = (row: LeaseRow) => row.holder !== null && row.expiresAt >= now() && row.start === start()
  const isOf = (row: LeaseRow | undefined, fence: bigint): row is LeaseRow =>
    row !== undefined && row.fence === fence && row.holder !== null && row.start === start()
  return {
    acquire(name: string, holder: string, leaseMs: number): bigint | null {
      const row = rows.get(name) ?? { holder: null, fence: 0n, expiresAt: 0, wanted: false, start: NEVER }
      rows.set(name, row)
      if (isHeld(row)) {
        row.wanted = true
        return null
      }
      // The leap of an unpredictable length after each start of a server: here, one that no other start takes.
      const leap = row.start === start() ? 0n : 1n << BigInt(40 + start())
      Object.assign(row, {
        holder,
        fence: row.fence + 1n + leap,
        expiresAt: now() + leaseMs,
        wanted: false,
        start: start(),
      })
      return row.fence
    },
    isFree(name: string): boolean {
      const row = rows.get(name)
      return row === undefined || !isHeld(row)
    },
    /** Whether nobody has taken it since. */
    isNewest: (name: string, fence: bigint) => rows.get(name)?.fence === fence,
    renew(name: string, fence: bigint, leaseMs: number): boolean {
      const row = rows.get(name)
      if (!isOf(row, fence)) return false
      row.expiresAt = now() + leaseMs
      return true
    },
    release(name: string, fence: bigint, force: boolean): 'released' | 'wanted' | 'lost' {
      const row = rows.get(name)
      if (!isOf(row, fence)) return 'lost'
      if (row.wanted && !force) {
        row.wanted = false
        return 'wanted'
      }
      Object.assign(row, { holder: null, expiresAt: 0, wanted: false })
      return 'released'
    },
  }
}
