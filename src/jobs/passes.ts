/**
 * Passes over items: those that run, and the lines in which items wait for room. Items of one group share room, and tenants
 * take turns.
 *
 * Invariant: an item has one pass at a time, under the lease of its partition.
 */
import { BursarError } from '../core/errors.ts'
import type { Clockwork } from './clockwork.ts'
import type { HeldPartition, PartitionLease, Pass } from './held-partition.ts'
import { createRounds, type Rounds } from './rounds.ts'

export type Outcome<Passed> = { readonly passed: Passed } | { readonly error: unknown }

type Ports<Passed> = {
  readonly groupOf: (item: string) => string
  /** The partition of an item, if it is held here. */
  readonly heldOf: (item: string) => HeldPartition | undefined
  readonly pass: (item: string, lease: PartitionLease) => Promise<Passed>
  readonly atOnce: { readonly ofGroup: number; readonly ofTenant: () => number | null }
  /** Called when a pass ended that was not forgotten. */
  readonly onEnded: (pass: Pass, outcome: Outcome<Passed>) => void
  readonly time: Clockwork
}

type Group = { readonly line: Rounds; readonly running: Set<Pass> }

export class Passes<Passed> {
  readonly #ports: Ports<Passed>
  readonly #groups = new Map<string, Group>()
  readonly #running = new Map<string, Pass>()

  constructor(ports: Ports<Passed>) {
    this.#ports = ports
  }

  /** An item has work. One whose pass runs gets another. */
  put(item: string, tenant: string, partition: HeldPartition): void {
    const own = this.#running.get(item)
    if (own !== undefined) own.again = true
    // A pass under a lease that was lost: the partition is kept until it ended.
    if (own?.partition !== partition) partition.queued.add(item)
    if (own !== undefined) return
    this.#groupOf(this.#ports.groupOf(item)).line.put({ queue: 'lane', id: item, data: { tenant_id: tenant } })
  }

  /** Begins the passes that there is room for. */
  start(): void {
    for (const [name, group] of this.#groups) if (group.line.size() > 0) this.#fill(name, group)
  }

  /** Passes that began before this time. */
  since(time: number): readonly Pass[] {
    return [...this.#running.values()].filter(({ startedAt }) => startedAt < time)
  }

  /** The pass takes no room any more, and its end is of no interest. @returns false if it was forgotten before */
  forget(pass: Pass): boolean {
    if (this.#running.get(pass.item) !== pass) return false
    this.#running.delete(pass.item)
    this.#groupOf(pass.group).running.delete(pass)
    pass.partition.running.delete(pass)
    return true
  }

  #groupOf(name: string): Group {
    const group = this.#groups.get(name) ?? { line: createRounds(Number.POSITIVE_INFINITY), running: new Set<Pass>() }
    this.#groups.set(name, group)
    return group
  }

  #fill(name: string, { line, running }: Group): void {
    const { ofGroup, ofTenant } = this.#ports.atOnce
    const most = ofTenant()
    const runningOf = (tenant: string) => [...running].filter((pass) => pass.tenant === tenant).length
    const mayHave = (tenant: string, taken: number) => most === null || runningOf(tenant) + taken < most
    // Items whose partition was given back take no room: more are taken until it is full.
    for (;;) {
      const taken = line.take(Math.max(0, ofGroup - running.size), mayHave)
      if (taken.length === 0) return
      for (const { id, data } of taken) this.#begin(name, id, data.tenant_id ?? '', running)
    }
  }

  #begin(group: string, item: string, tenant: string, running: Set<Pass>): void {
    const partition = this.#ports.heldOf(item)
    if (partition === undefined) return
    partition.queued.delete(item)
    // It stood in the lines of two tenants: of nobody, until its tenant was known.
    if (this.#running.has(item)) {
      this.put(item, tenant, partition)
      return
    }
    if (!partition.isOpen) {
      partition.wake(item)
      return
    }
    const pass: Pass = { item, tenant, group, partition, startedAt: this.#ports.time.now(), again: false }
    for (const all of [running, partition.running]) all.add(pass)
    this.#running.set(item, pass)
    void this.#run(pass)
  }

  async #run(pass: Pass): Promise<void> {
    const outcome = await this.#outcomeOf(pass)
    if (this.forget(pass)) this.#ports.onEnded(pass, outcome)
  }

  async #outcomeOf({ item, partition }: Pass): Promise<Outcome<Passed>> {
    try {
      return { passed: await this.#ports.pass(item, partition.lease) }
    } catch (error) {
      return { error }
    }
  }
}

/** Nothing that a pass waits for takes so long. */
export class PassHangs extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'pass_hangs'
  override readonly retryable = true

  constructor(item: string, hangingMs: number) {
    super(`The work on ${item} did not end within ${hangingMs / 1_000} s: its partition is left to others.`)
  }
}
