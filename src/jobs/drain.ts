/**
 * Works on the items (lanes) of the partitions that this process holds. A job brings a partition; the process takes its lease,
 * keeps it while there is work and a moment longer, and meanwhile learns of new work from wake-ups, without jobs. All items
 * that have work begin their passes together, so that what they read, ask and append is shared.
 *
 * Invariant: a pass runs under the lease of its item's partition, and an item has one pass at a time. What an item does
 * wrong, or waits for, stops no other item.
 */
import { BursarError } from '../core/errors.ts'
import { DEFAULT_RETRIES } from './backoff.ts'
import { type Clockwork, REAL_TIME } from './clockwork.ts'
import { HeldPartition, type PartitionLease, type Pass } from './held-partition.ts'
import { type Outcome, Passes, PassHangs } from './passes.ts'
import { createResting, type Resting } from './resting.ts'

/** `again`: more may be done at once. `waits`: nothing can be done until its cause changes. */
export type Passed = 'done' | 'again' | 'waits'

export type DrainSettings = {
  readonly leases: { readonly acquire: (name: string) => Promise<PartitionLease | null> }
  readonly leaseMs: number
  readonly leaseOf: (partition: string) => string
  /** `null` for what is no item. */
  readonly partitionOf: (item: string) => string | null
  /** The items of these partitions that may have work. @param isStale also those whose work may be due again */
  readonly find: (partitions: readonly string[], isStale: boolean) => Promise<readonly string[]>
  /** The tenant of each item, '' if it is unknown; items that are not for this drain are missing. */
  readonly tenantsOf: (items: readonly string[]) => Promise<ReadonlyMap<string, string>>
  /** Items of one group share room: a chain whose nodes are slow delays no other chain. */
  readonly groupOf: (item: string) => string
  /** Does what can be done now. Its appends name the lease; one that is refused fails with the code `fence_lost`. */
  readonly pass: (item: string, lease: PartitionLease) => Promise<Passed>
  /** Passes at once, of a group, and of a tenant in it (`null`: as many as there is room for). */
  readonly atOnce: { readonly ofGroup: number; readonly ofTenant: () => number | null }
  /** Called for an item whose pass failed. @param tries in a row; @param isFinal an operator should see it now */
  readonly onFailed: (item: string, error: unknown, failure: Failure) => void
  /** Called when work could not be looked for; it is looked for again. */
  readonly onError: (error: unknown) => void
  readonly time?: Clockwork
}

type Failure = { readonly tries: number; readonly isFinal: boolean }
/** `first`: items that are tried soon although they rest. */
type How = { readonly isStale: boolean; readonly first?: readonly string[] }

export type Holding = 'left' | 'nothing left' | 'taken'

/** Between the starts of two rounds. */
const ROUND_MS = 15
/** After this time a pass hangs: nothing that it waits for takes so long. Its partition is left to others. */
const HANGING_MS = 180_000
/** Items of a partition that wake-ups named and that were not looked at: of more a search finds those with work. */
const MOST_WOKEN = 1_000
/** Wake-ups may be lost without a sign: work is looked for this often in what is held for long. */
const LOOK_MS = 15_000
/** After work could not be looked for. */
const RETRY_MS = 1_000

export class Drain {
  readonly #held = new Map<string, HeldPartition>()
  readonly #settings: DrainSettings
  readonly #time: Clockwork
  readonly #resting: Resting
  readonly #passes: Passes<Passed>
  #isInRound = false
  #nextRoundAt = Number.NEGATIVE_INFINITY
  #scheduled: { readonly at: number; readonly cancel: () => void } | null = null
  /** After an error: until then only what is in line begins. */
  #readAgainAt = Number.NEGATIVE_INFINITY
  #stopRenewing: (() => void) | null = null
  readonly #signals = new WeakSet<AbortSignal>()

  constructor(settings: DrainSettings) {
    const { time = REAL_TIME, groupOf, pass, atOnce } = settings
    this.#settings = settings
    this.#time = time
    this.#resting = createResting(time, (item) => this.#add([item]))
    const heldOf = (item: string) => this.#heldOf(item)
    const onEnded = (ended: Pass, outcome: Outcome<Passed>) => this.#ended(ended, outcome)
    this.#passes = new Passes({ groupOf, heldOf, pass, atOnce, onEnded, time })
  }

  /**
   * Takes a partition, unless another process has it, and resolves when it was given back.
   *
   * @param signal of this process: when it aborts, all partitions are given back
   * @returns `left` if it was given back with work in it, or not taken: take it again; `taken` if another process has it
   */
  async hold(name: string, { isStale, first = [] }: How, signal: AbortSignal): Promise<Holding> {
    const own = this.#held.get(name)
    if (own !== undefined) {
      own.ask(isStale)
      this.wake(first)
      this.#schedule()
      return 'nothing left'
    }
    if (signal.aborted) return 'left'
    const lease = await this.#settings.leases.acquire(this.#settings.leaseOf(name))
    if (lease === null) return 'taken' // Its holder was told that there may be more work.
    const partition = new HeldPartition({ name, lease, patienceMs: this.#settings.leaseMs }, isStale, this.#time)
    // A second job of the partition, while the first one took its lease, which has expired since: the newer lease stands.
    this.#held.get(name)?.lose()
    this.#held.set(name, partition)
    this.#stopRenewing ??= this.#renewLater()
    this.#giveUpAfter(signal)
    this.wake(first)
    try {
      do {
        this.#schedule()
        await partition.untilIdle()
      } while (!(await partition.giveBack()))
    } finally {
      this.#drop(partition)
    }
    return partition.isLeft ? 'left' : 'nothing left'
  }

  /** Items that may have new work. Those of partitions that are not held here are ignored. */
  wake(items: readonly string[]): void {
    for (const item of items) {
      const partition = this.#heldOf(item)
      if (partition === undefined) continue
      if (partition.woken.size >= MOST_WOKEN) partition.ask(false)
      else if (this.#resting.mayTry(item)) partition.wake(item)
    }
    if (this.#hasUnread()) this.#schedule()
  }

  /**
   * Wake-ups may have been lost: looks for work in all that is held.
   *
   * @param unseenMs only where work was not looked for so long
   */
  lookAgain(unseenMs = 0): void {
    const unseen = [...this.#held.values()].filter((one) => one.isUnseenSince(this.#time.now() - unseenMs))
    for (const partition of unseen) partition.ask(false)
    if (unseen.length > 0) this.#schedule()
  }

  /** How many partitions it holds. */
  held(): number {
    return this.#held.size
  }

  /** Gives back partitions until it holds no more than this many. */
  keepOnly(most: number): void {
    const loadOf = ({ running, queued, woken }: HeldPartition) => running.size + queued.size + woken.size
    const busiest = [...this.#held.values()].filter(({ isOpen }) => isOpen).sort((a, b) => loadOf(b) - loadOf(a))
    for (const partition of busiest.slice(most)) partition.giveUp()
  }

  #heldOf(item: string): HeldPartition | undefined {
    return this.#held.get(this.#settings.partitionOf(item) ?? '')
  }

  /** All partitions are given back when a signal aborts, with one listener for each signal. */
  #giveUpAfter(signal: AbortSignal): void {
    const end = () => {
      for (const partition of this.#held.values()) partition.giveUp()
    }
    if (signal.aborted) end()
    else if (!this.#signals.has(signal)) signal.addEventListener('abort', end, { once: true })
    this.#signals.add(signal)
  }

  #drop(partition: HeldPartition): void {
    if (this.#held.get(partition.name) === partition) this.#held.delete(partition.name)
    if (this.#held.size > 0) return
    this.#stopRenewing?.()
    this.#stopRenewing = null
  }

  #add(items: readonly string[]): void {
    for (const item of items) this.#heldOf(item)?.wake(item)
    if (this.#hasUnread()) this.#schedule()
  }

  #hasUnread(): boolean {
    return [...this.#held.values()].some(({ hasUnread }) => hasUnread)
  }

  #schedule(): void {
    if (this.#isInRound) return
    this.#scheduleAt(Math.max(this.#time.now(), this.#nextRoundAt))
  }

  #scheduleAt(at: number): void {
    if (this.#scheduled !== null && this.#scheduled.at <= at) return
    this.#scheduled?.cancel()
    this.#scheduled = { at, cancel: this.#time.after(at - this.#time.now(), () => void this.#round()) }
  }

  async #round(): Promise<void> {
    this.#scheduled = null
    this.#isInRound = true
    this.#nextRoundAt = this.#time.now() + ROUND_MS
    if (this.#time.now() >= this.#readAgainAt) await this.#read()
    this.#isInRound = false
    this.#passes.start()
    if (this.#hasUnread()) this.#scheduleAt(Math.max(this.#time.now(), this.#nextRoundAt, this.#readAgainAt))
  }

  async #read(): Promise<void> {
    try {
      await this.#look(false)
      await this.#look(true)
      await this.#queueWoken()
    } catch (error) {
      this.#readAgainAt = this.#time.now() + RETRY_MS
      this.#settings.onError(error)
    }
  }

  async #look(isStale: boolean): Promise<void> {
    const these = [...this.#held.values()].filter((partition) => partition.isToLook(isStale))
    if (these.length === 0) return
    for (const partition of these) partition.beginLook()
    try {
      const found = await this.#settings.find(
        these.map(({ name }) => name),
        isStale,
      )
      for (const item of found) if (!this.#resting.isResting(item)) this.#heldOf(item)?.wake(item)
    } catch (error) {
      for (const partition of these) partition.ask(isStale)
      throw error
    } finally {
      for (const partition of these) partition.endLook()
    }
  }

  async #queueWoken(): Promise<void> {
    const woken = [...this.#held.values()].flatMap((partition) =>
      partition.isOpen ? [...partition.woken].map((item) => ({ item, partition })) : [],
    )
    if (woken.length === 0) return
    const tenants = await this.#settings.tenantsOf(woken.map(({ item }) => item))
    for (const { item, partition } of woken) {
      partition.woken.delete(item)
      const tenant = tenants.get(item)
      if (tenant !== undefined) this.#passes.put(item, tenant, partition)
    }
  }

  #ended({ item, partition, again }: Pass, outcome: Outcome<Passed>): void {
    if ('error' in outcome) this.#failed(item, partition, outcome.error)
    else if (outcome.passed === 'waits') this.#resting.waits(item)
    else this.#resting.forget(item)
    if ('passed' in outcome && outcome.passed === 'again') this.#add([item])
    if (again) this.wake([item])
    partition.touch()
    this.#schedule()
  }

  #failed(item: string, partition: HeldPartition, error: unknown): void {
    if (error instanceof BursarError && error.code === 'fence_lost') {
      partition.lose()
      return
    }
    const { tries, pauseMs } = this.#resting.failed(item)
    const isFinal = tries % DEFAULT_RETRIES.attempts === 0 || (error instanceof BursarError && !error.retryable)
    // The partition is kept for the next try; after the last one an operator or the sweeper sees to it.
    if (!isFinal) partition.touch(pauseMs)
    this.#settings.onFailed(item, error, { tries, isFinal })
  }

  #renewLater(): () => void {
    return this.#time.after(this.#settings.leaseMs / 3, () => this.#renewAll())
  }

  #renewAll(): void {
    this.#stopRenewing = this.#renewLater()
    for (const pass of this.#passes.since(this.#time.now() - HANGING_MS)) this.#giveUpOn(pass)
    this.lookAgain(LOOK_MS)
    for (const partition of this.#held.values())
      if (!partition.isLost)
        partition.lease.renew().then(
          (isKept) => (isKept ? undefined : partition.lose()),
          () => undefined, // The next renewal, or a refused append, decides.
        )
  }

  #giveUpOn(pass: Pass): void {
    this.#passes.forget(pass)
    this.#ended(pass, { error: new PassHangs(pass.item, HANGING_MS) })
    pass.partition.lose()
  }
}
