/** A drain with the room of a process under a load of many tenants, in simulated time: what each request waits. */
import type { Passed } from '../../src/jobs/drain.ts'
import { stageDrain } from './drain-stage.ts'
import { createRandom } from './load-random.ts'
import { simulateTime } from './simulated-time.ts'

export type Load = {
  readonly tenants: readonly string[]
  /** Of each tenant. */
  readonly lanes: number
  /** Requests of all lanes together, at random times. */
  readonly perSecond: number
  /** The shortest and the longest pass. */
  readonly passMs: readonly [number, number]
}

/** Lanes of the tenant `flood` that always have work. */
export type Flood = {
  readonly lanes: number
  readonly passMs: readonly [number, number]
  /** How its passes end; by default there is more to do. */
  readonly ends?: Passed
}

export type Waits = {
  /** From each request to the end of a pass that began after it, ms. */
  readonly waits: readonly number[]
  readonly p99: number
  readonly longest: number
  /** Passes of the flood. */
  readonly passes: number
}

/** As of `src/compose/lanes.ts`. */
const AT_ONCE = { ofGroup: 64, ofTenant: () => 56 } as const
/** The flood alone, and then with the load. */
const FIRST_MS = 1_000
const LOAD_MS = 3_000
/** Lanes of the flood have lower numbers. */
const LANES_BEFORE = 10_000
const PARTITIONS = [...'0123456789abcdef']
const nameOf = (tenant: string, lane: number) => `${PARTITIONS[lane % PARTITIONS.length]}-${tenant}-${lane}`

export async function waitsOf(
  { tenants, lanes, perSecond, passMs }: Load,
  { seed, flood }: { readonly seed: number; readonly flood?: Flood },
): Promise<Waits> {
  const [arrivals, durations] = [createRandom(seed), createRandom(seed + 1_000)]
  const time = simulateTime()
  const endsAt = FIRST_MS + LOAD_MS
  const asked = new Map<string, number[]>()
  const waits: number[] = []
  let [requests, passes] = [0, 0]
  const flooded = new Set(Array.from({ length: flood?.lanes ?? 0 }, (_, lane) => nameOf('flood', lane)))

  function pass(item: string): Promise<Passed> {
    const own = asked.get(item) ?? []
    asked.delete(item)
    if (!flooded.has(item)) work.delete(item)
    else passes += 1
    const inMs = durations.between(...(flooded.has(item) ? (flood?.passMs ?? passMs) : passMs))
    return new Promise((resolve) => {
      time.after(inMs, () => {
        for (const at of own) waits.push(time.now() - at)
        resolve(flooded.has(item) && time.now() < endsAt ? (flood?.ends ?? 'again') : 'done')
      })
    })
  }
  const { drain, work, stop } = stageDrain({ time, atOnce: AT_ONCE, pass })

  /** As the dispatcher asks for it, and again while something is left. */
  async function hold(partition: string): Promise<void> {
    while ((await drain.hold(partition, { isStale: false }, stop.signal)) === 'left');
  }

  function request(): void {
    const item = nameOf(arrivals.pick(tenants), LANES_BEFORE + arrivals.between(0, lanes - 1))
    asked.set(item, [...(asked.get(item) ?? []), time.now()])
    requests += 1
    work.add(item)
    drain.wake([item])
    void hold(item.charAt(0))
    const inMs = (-Math.log(1 - arrivals.next()) * 1_000) / perSecond
    if (time.now() + inMs < endsAt) time.after(inMs, request)
  }

  for (const item of flooded) work.add(item)
  for (const partition of PARTITIONS) void hold(partition)
  await time.pass(FIRST_MS)
  request()
  await time.pass(LOAD_MS)
  const passesSoFar = passes
  for (const item of flooded) work.delete(item)
  for (let tries = 0; waits.length < requests && tries < 100; tries += 1) await time.pass(1_000)
  if (waits.length !== requests) throw new Error(`${requests - waits.length} of ${requests} requests had no pass`)
  const sorted = waits.toSorted((a, b) => a - b)
  return {
    waits,
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    longest: sorted.at(-1) ?? 0,
    passes: passesSoFar,
  }
}
