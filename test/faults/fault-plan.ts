/** Which faults hit when: follows from the seed alone. */
import type { Random } from '../support/load-random.ts'

export type Fault =
  | { readonly type: 'kill'; readonly atMs: number; readonly names: readonly string[] }
  /** The process is stopped for longer than its leases live, and goes on as if nothing had been. */
  | { readonly type: 'pause'; readonly atMs: number; readonly name: string; readonly forMs: number }
  /** The parent, with everything it started, and a new start. */
  | { readonly type: 'kill all'; readonly atMs: number }
  /** The parent alone, and a new start as soon as it is gone. */
  | { readonly type: 'kill parent'; readonly atMs: number }

const WORKERS = ['api', 'dispatcher', 'signer', 'submitter', 'chain-follower'] as const
const CHAINS = ['anvil-ethereum', 'anvil-polygon', 'anvil-binance'] as const

/** What the first fault of each round does, in turn, so that a few rounds try everything. */
const FIRST = [
  'all',
  'signer',
  'anvil',
  'submitter',
  'postgres',
  'chain-follower',
  'several',
  'api',
  'pause',
  'dispatcher',
  'parent',
] as const
type Kind = (typeof FIRST)[number]

const MOST_MORE = 3
/** Faults come while requests come, and a little longer: while what was accepted is sent and mined. */
const WITHIN_MS = 9_000

export function planFaults(random: Random, round: number): Fault[] {
  const first = FIRST[round % FIRST.length] as Kind
  const more = Array.from({ length: random.between(0, MOST_MORE) }, () => random.pick(FIRST))
  return [first, ...more].map((kind) => faultOf(random, kind)).sort((a, b) => a.atMs - b.atMs)
}

function faultOf(random: Random, kind: Kind): Fault {
  const atMs = random.between(0, WITHIN_MS)
  switch (kind) {
    case 'all':
      return { type: 'kill all', atMs }
    case 'parent':
      return { type: 'kill parent', atMs }
    case 'pause':
      return { type: 'pause', atMs, name: random.pick(WORKERS), forMs: random.between(3_500, 8_000) }
    case 'several':
      return {
        type: 'kill',
        atMs,
        names: [...WORKERS, 'postgres', random.pick(CHAINS)].filter(() => random.chance(0.5)),
      }
    case 'anvil':
      return { type: 'kill', atMs, names: [random.pick(CHAINS)] }
    default:
      return { type: 'kill', atMs, names: [kind] }
  }
}

export function describeFault(fault: Fault): string {
  const at = `${(fault.atMs / 1_000).toFixed(1)}s`
  switch (fault.type) {
    case 'kill':
      return `${fault.names.join('+') || 'nothing'}@${at}`
    case 'pause':
      return `${fault.name} stopped for ${(fault.forMs / 1_000).toFixed(1)}s@${at}`
    case 'kill all':
      return `everything@${at}`
    case 'kill parent':
      return `parent@${at}`
  }
}
