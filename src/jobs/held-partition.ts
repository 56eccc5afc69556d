/**
 * A partition that this process holds: its lease, the items in it that have work, and when it is given back.
 *
 * Invariant: work that arrives before it is given back is done under its lease, or leaves it with work in it.
 */
import type { Clockwork } from './clockwork.ts'

/** How long a partition without work is kept: longer than the dispatcher's pause between two jobs of it. */
const LINGER_MS = 2_000

/** The exclusive right to a partition, as `src/event-log/leases.ts` gives it. */
export type PartitionLease = {
  readonly name: string
  readonly fence: bigint
  readonly renew: () => Promise<boolean>
  readonly release: (options?: { readonly force: boolean }) => Promise<'released' | 'wanted' | 'lost'>
}

/** Work on one item, under the lease of its partition. */
export type Pass = {
  readonly item: string
  readonly tenant: string
  readonly group: string
  readonly partition: HeldPartition
  readonly startedAt: number
  /** Whether work arrived since it began. */
  again: boolean
}

export class HeldPartition {
  readonly name: string
  readonly lease: PartitionLease
  /** Items with new work. */
  readonly woken = new Set<string>()
  /** Items that wait for a pass. */
  readonly queued = new Set<string>()
  readonly running = new Set<Pass>()
  readonly #time: Clockwork
  readonly #patienceMs: number
  #lookedAt: number
  #isReleasing = false
  #givenUpAt: number | null = null
  #isLost = false
  #mustLook = true
  #isStale: boolean
  #isLooking = false
  #busyUntil: number
  #check: () => void = () => undefined

  /** @param patienceMs how long the passes that run may keep it when it is to be given back */
  constructor(
    { name, lease, patienceMs }: { readonly name: string; readonly lease: PartitionLease; readonly patienceMs: number },
    isStale: boolean,
    time: Clockwork,
  ) {
    this.name = name
    this.lease = lease
    this.#patienceMs = patienceMs
    this.#lookedAt = time.now()
    this.#isStale = isStale
    this.#time = time
    this.#busyUntil = time.now()
  }

  /** Whether passes may begin. */
  get isOpen(): boolean {
    return !this.#isReleasing && this.#givenUpAt === null && !this.#isLost
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Whether something must be read before its passes can begin. */
  get hasUnread(): boolean {
    return this.isOpen && (this.#mustLook || this.woken.size > 0)
  }

  /** There may be work in it. @param isStale also work that may be due again */
  ask(isStale: boolean): void {
    this.#mustLook = true
    this.#isStale ||= isStale
  }

  /** Whether nothing was looked for in it since then. */
  isUnseenSince(time: number): boolean {
    return this.#lookedAt <= time
  }

  isToLook(isStale: boolean): boolean {
    return this.isOpen && this.#mustLook && this.#isStale === isStale
  }

  /** What is asked for from now on needs another look. */
  beginLook(): void {
    this.#mustLook = false
    this.#isStale = false
    this.#isLooking = true
    this.#lookedAt = this.#time.now()
  }

  endLook(): void {
    this.#isLooking = false
  }

  wake(item: string): void {
    this.woken.add(item)
    this.touch()
  }

  /** It has work now, or after this time. */
  touch(inMs = 0): void {
    this.#busyUntil = Math.max(this.#busyUntil, this.#time.now() + inMs)
    if (!this.isOpen) this.#check()
  }

  /** No pass begins any more; it is given back when none runs, or those that run take longer than others should wait. */
  giveUp(): void {
    this.#givenUpAt ??= this.#time.now()
    this.#check()
  }

  /** Another process may have it. */
  lose(): void {
    this.#isLost = true
    this.#check()
  }

  /** Resolves when it had no work for a moment, was lost, or is to be given back: when no pass runs, or they are slow. */
  untilIdle(): Promise<void> {
    return new Promise((resolve) => {
      let cancel: () => void = () => undefined
      this.#check = () => {
        cancel()
        const leftMs = this.#leftMs()
        if (leftMs <= 0) {
          this.#check = () => undefined
          resolve()
        } else cancel = this.#time.after(leftMs, () => this.#check())
      }
      this.#check()
    })
  }

  #leftMs(): number {
    if (this.#isLost) return 0
    if (this.#givenUpAt !== null)
      return this.running.size === 0 ? 0 : this.#givenUpAt + this.#patienceMs - this.#time.now()
    const hasWork = this.#mustLook || this.#isLooking || this.woken.size + this.queued.size + this.running.size > 0
    return hasWork ? LINGER_MS : this.#busyUntil + LINGER_MS - this.#time.now()
  }

  /** @returns false if it is kept, since another process asked for it: that one was told that there is work */
  async giveBack(): Promise<boolean> {
    if (this.#isLost) {
      // If it was not lost to another process, others need not wait for its end.
      await this.lease.release({ force: true }).catch(() => undefined)
      return true
    }
    this.#isReleasing = true
    const outcome = await this.lease.release(this.#givenUpAt !== null ? { force: true } : undefined)
    if (outcome === 'lost') this.#isLost = true
    if (outcome !== 'wanted') return true
    this.#isReleasing = false
    this.ask(false)
    this.touch()
    return false
  }

  /** Whether it was given back with work in it. One that was lost may have had some. */
  get isLeft(): boolean {
    const isUnknown = this.#isLost || this.#mustLook || this.#isLooking
    return isUnknown || this.woken.size + this.queued.size + this.running.size > 0 || this.#busyUntil > this.#time.now()
  }
}
