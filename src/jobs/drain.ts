/**
 * Works on the items (lanes) of the partitions that this process holds. A job brings a partition; the process takes its lease,
 * keeps it while there is work and a moment longer, and meanwhile learns of new work from wake-ups, without jobs. All items
 * that have work begin their passes together, so that what they read, ask and append is shared.
 *
 * Invariant: a pass runs under the lease of its item's partition, and an item has one pass at a time. What an item does
 * wrong, or waits for, stops no other item.
 */
import { BursarError } from '../core/errors.ts'
import { FenceLost } from '../event-log/commit.ts'
import type { Lease, Leases } from '../event-log/leases.ts'
import { DEFAULT_RETRIES } from './backoff.ts'
import { type Clockwork, REAL_TIME } from './clockwork.ts'
import { createResting } from './resting.ts'
import { createRounds, type Rounds } from './rounds.ts'

/** `again`: more may be done at once. `waits`: nothing can be done until its cause changes. */
export type Passed = 'done' | 'again' | 'waits'

export type DrainSettings = {
  readonly leases: Leases
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
  /** Does what can be done now. Its appends name the lease. */
  readonly pass: (item: string, lease: Lease) => Promise<Passed>
  /** Passes at once, of a group, and of a tenant in it (`null`: as many as there is room for). */
  readonly atOnce: { readonly ofGroup: number; readonly ofTenant: () => number | null }
  /** Called for an item whose pass failed. @param tries in a row; @param isFinal an operator should see it now */
  readonly onFailed: (
    item: string,
    error: unknown,
    failure: { readonly tries: number; readonly isFinal: boolean },
  ) => void
  /** Called when work could not be looked for; it is looked for again. */
  readonly onError: (error: unknown) => void
  readonly time?: Clockwork
}

type How = { readonly isStale: boolean }

export type Drain = {
  /**
   * Takes a partition, unless another process has it, and resolves when it was given back.
   *
   * @returns `left` if it was given back with work in it: another process should take it
   */
  readonly hold: (partition: string, how: How, signal: AbortSignal) => Promise<'left' | 'nothing left'>
  /** Items that may have new work. Those of partitions that are not held here are ignored. */
  readonly wake: (items: readonly string[]) => void
  /** Wake-ups may have been lost: looks for work in all that is held. */
  readonly lookAgain: () => void
  /** How many partitions it holds. */
  readonly held: () => number
  /** Gives back partitions until it holds no more than this many. */
  readonly keepOnly: (most: number) => void
}

/** Between the starts of two rounds. */
const ROUND_MS = 15
/** How long a partition without work is kept: longer than the dispatcher's pause between two jobs of it. */
const LINGER_MS = 2_000
/** After this time a pass hangs: nothing that it waits for takes so long. Its partition is left to others. */
const HANGING_MS = 180_000
const RETRY_MS = 1_000

type Held = {
  readonly partition: string
  readonly lease: Lease
  /** Items with a pass, and items that wait for one. */
  running: number
  readonly queued: Set<string>
  mustLook: boolean
  isStale: boolean
  busyAt: number
  /** `giving back`: no pass begins. `lost`: another process may have it. */
  state: 'held' | 'giving back' | 'lost'
  /** Whether work arrived since it is given back. */
  hasMissed: boolean
  /** Ends the wait for idleness. */
  look: () => void
}

type Running = { readonly partition: Held; readonly tenant: string; readonly startedAt: number; again: boolean }

export function createDrain(settings: DrainSettings): Drain {
  const { leases, leaseMs, partitionOf, time = REAL_TIME } = settings
  const held = new Map<string, Held>()
  const running = new Map<string, Running>()
  const resting = createResting(time, (item) => add([item]))
  const lines = new Map<string, Rounds>()
  const woken = new Set<string>()
  let isScheduled = false
  let isInRound = false
  let nextRoundAt = Number.NEGATIVE_INFINITY
  let isRenewing = false

  function schedule(inMs = 0): void {
    if (isScheduled || isInRound) return
    isScheduled = true
    time.after(Math.max(inMs, nextRoundAt - time.now()), () => void round())
  }

  async function round(): Promise<void> {
    isScheduled = false
    isInRound = true
    nextRoundAt = time.now() + ROUND_MS
    let pauseMs = 0
    try {
      await lookForWork()
      await queueWoken()
    } catch (error) {
      settings.onError(error)
      pauseMs = RETRY_MS
    }
    isInRound = false
    start()
    if (woken.size > 0 || [...held.values()].some(({ mustLook }) => mustLook)) schedule(pauseMs)
  }

  async function lookForWork(): Promise<void> {
    const unknown = [...held.values()].filter(({ mustLook }) => mustLook)
    if (unknown.length === 0) return
    for (const isStale of [false, true]) {
      const these = unknown.filter((one) => one.isStale === isStale)
      if (these.length === 0) continue
      const found = await settings.find(
        these.map(({ partition }) => partition),
        isStale,
      )
      for (const one of these) Object.assign(one, { mustLook: false, isStale: false })
      for (const item of found) if (!resting.isResting(item)) woken.add(item)
    }
  }

  async function queueWoken(): Promise<void> {
    if (woken.size === 0) return
    const items = [...woken]
    const tenants = await settings.tenantsOf(items)
    for (const item of items) {
      woken.delete(item)
      const tenant = tenants.get(item)
      if (tenant !== undefined) putInLine(item, tenant)
    }
  }

  function putInLine(item: string, tenant: string): void {
    const partition = held.get(partitionOf(item) ?? '')
    if (partition === undefined) return
    partition.busyAt = time.now()
    const own = running.get(item)
    if (own !== undefined) {
      own.again = true
      return
    }
    const group = settings.groupOf(item)
    const line = lines.get(group) ?? createRounds()
    lines.set(group, line)
    line.put({ queue: 'lane', id: item, data: { tenant_id: tenant } })
    partition.queued.add(item)
  }

  /** Begins the passes that there is room for, tenants in turn. */
  function start(): void {
    for (const [group, line] of lines) {
      if (line.size() === 0) continue
      const own = [...running].filter(([item]) => settings.groupOf(item) === group).map(([, pass]) => pass.tenant)
      const most = settings.atOnce.ofTenant()
      const mayHave = (tenant: string, taken: number) =>
        most === null || own.filter((other) => other === tenant).length + taken < most
      const room = settings.atOnce.ofGroup - own.length
      for (const { id, data } of line.take(Math.max(0, room), mayHave)) begin(id, data.tenant_id ?? '')
    }
  }

  function begin(item: string, tenant: string): void {
    const partition = held.get(partitionOf(item) ?? '')
    if (partition === undefined) return
    partition.queued.delete(item)
    if (partition.state !== 'held') {
      partition.hasMissed = true
      partition.look()
      return
    }
    const pass: Running = { partition, tenant, startedAt: time.now(), again: false }
    running.set(item, pass)
    partition.running += 1
    void settings
      .pass(item, partition.lease)
      .then(
        (passed) => rest(item, passed),
        (error: unknown) => fail(item, partition, error),
      )
      .finally(() => {
        running.delete(item)
        partition.running -= 1
        partition.busyAt = time.now()
        if (pass.again) wake([item])
        if (partition.state !== 'held') partition.look()
        schedule()
      })
  }

  function rest(item: string, passed: Passed): void {
    if (passed === 'waits') resting.waits(item)
    else resting.forget(item)
    if (passed === 'again') add([item])
  }

  function fail(item: string, partition: Held, error: unknown): void {
    if (error instanceof FenceLost) {
      lose(partition)
      return
    }
    const tries = resting.failed(item)
    const isFinal = tries % DEFAULT_RETRIES.attempts === 0 || (error instanceof BursarError && !error.retryable)
    settings.onFailed(item, error, { tries, isFinal })
  }

  function add(items: readonly string[]): void {
    for (const item of items) {
      const partition = held.get(partitionOf(item) ?? '')
      if (partition === undefined) continue
      if (partition.state === 'held') woken.add(item)
      else partition.hasMissed = true
    }
    if (woken.size > 0) schedule()
  }

  const wake = (items: readonly string[]) => add(items.filter(resting.mayTry))

  function lose(partition: Held): void {
    partition.state = 'lost'
    partition.look()
  }

  function renewAll(): void {
    const oldest = new Map<Held, number>()
    for (const { partition, startedAt } of running.values())
      oldest.set(partition, Math.min(startedAt, oldest.get(partition) ?? startedAt))
    for (const partition of held.values()) {
      if ((oldest.get(partition) ?? Number.POSITIVE_INFINITY) < time.now() - HANGING_MS) lose(partition)
      // After an error the next renewal, or a refused append, decides.
      else
        partition.lease.renew().then(
          (isKept) => (isKept ? undefined : lose(partition)),
          () => undefined,
        )
    }
    isRenewing = held.size > 0
    if (isRenewing) time.after(leaseMs / 3, renewAll)
  }

  /** Resolves when the partition had no work for a moment, was lost, or is to be given back and no pass runs. */
  function untilIdle(partition: Held): Promise<void> {
    return new Promise((resolve) => {
      let cancel = () => {}
      const look = () => {
        cancel()
        const { state, mustLook, queued, busyAt } = partition
        const isIdle = partition.running === 0 && (state === 'giving back' || (!mustLook && queued.size === 0))
        const leftMs = state === 'giving back' ? 0 : busyAt + LINGER_MS - time.now()
        if (state === 'lost' || (isIdle && leftMs <= 0)) resolve()
        else cancel = time.after(isIdle ? leftMs : LINGER_MS, look)
      }
      partition.look = look
      look()
    })
  }

  async function giveBack(partition: Held): Promise<'released' | 'wanted' | 'lost'> {
    if (partition.state === 'lost') return 'lost'
    const force = partition.state === 'giving back'
    partition.state = 'giving back'
    const outcome = await partition.lease.release(force ? { force } : undefined)
    if (outcome === 'wanted')
      Object.assign(partition, { state: 'held', mustLook: true, hasMissed: false, busyAt: time.now() })
    return outcome
  }

  async function hold(name: string, { isStale }: How, signal: AbortSignal): Promise<'left' | 'nothing left'> {
    const own = held.get(name)
    if (own !== undefined) {
      own.mustLook = true
      own.isStale ||= isStale
      schedule()
      return 'nothing left'
    }
    const lease = signal.aborted ? null : await leases.acquire(settings.leaseOf(name))
    if (lease === null) return 'nothing left' // Another process has it, and was told that there may be more work.
    const partition: Held = {
      partition: name,
      lease,
      running: 0,
      queued: new Set(),
      mustLook: true,
      isStale,
      busyAt: time.now(),
      state: 'held',
      hasMissed: false,
      look: () => undefined,
    }
    held.set(name, partition)
    const end = () => {
      if (partition.state === 'held') partition.state = 'giving back'
      partition.look()
    }
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    if (!isRenewing) time.after(leaseMs / 3, renewAll)
    isRenewing = true
    try {
      do {
        schedule()
        await untilIdle(partition)
      } while ((await giveBack(partition)) === 'wanted')
    } finally {
      signal.removeEventListener('abort', end)
      held.delete(name)
    }
    const isLeft = partition.hasMissed || partition.queued.size > 0 || partition.mustLook
    return isLeft && partition.state !== 'lost' ? 'left' : 'nothing left'
  }

  return {
    hold,
    wake,
    held: () => held.size,
    lookAgain() {
      for (const partition of held.values()) partition.mustLook = true
      if (held.size > 0) schedule()
    },
    keepOnly(most) {
      const busiest = [...held.values()].filter(({ state }) => state === 'held')
      busiest.sort((a, b) => b.running + b.queued.size - (a.running + a.queued.size))
      for (const partition of busiest.slice(most)) {
        partition.state = 'giving back'
        partition.look()
      }
    },
  }
}
