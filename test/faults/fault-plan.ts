/** Which faults occur when, derived only from the seed. */
import { NETWORKS, type Network } from '../../src/core/networks.ts'
import type { Random } from '../support/load-random.ts'

type At = { readonly atMs: number }
type Lasting = At & { readonly forMs: number }

export type Fault =
  | (At & { readonly type: 'kill'; readonly names: readonly string[] })
  /** The process is stopped for longer than its leases last, and then continues. */
  | (Lasting & { readonly type: 'pause'; readonly name: string })
  /** The parent with everything it started, then a new start. */
  | (At & { readonly type: 'kill all' })
  /** Only the parent, then a new start as soon as it has exited. */
  | (At & { readonly type: 'kill parent' })
  /** Ends every connection and restarts, as on an operator's request. */
  | (At & { readonly type: 'restart postgres' })
  | (At & { readonly type: 'cut connections' })
  /** For a fraction of the appends the connection ends before the response: their outcome is unknown. */
  | (Lasting & { readonly type: 'cut commits'; readonly share: number })
  /** Every statement is delayed by this time. */
  | (Lasting & { readonly type: 'slow database'; readonly lateMs: number })
  | (Lasting & { readonly type: 'read-only database' })
  | (Lasting & { readonly type: 'full disk' })
  | (Lasting & { readonly type: 'lies'; readonly networks: readonly Network[]; readonly share: number })
  /** With `again`, the blocks' transactions are mined again in another block; otherwise the node loses them. */
  | (At & { readonly type: 'reorg'; readonly network: Network; readonly depth: number; readonly again: boolean })
  | (At & { readonly type: 'forget pool'; readonly network: Network })
  /** The next block's base fee is ten times as high. */
  | (At & { readonly type: 'base fee'; readonly network: Network })
  | (At & { readonly type: 'empty queue' })

const WORKERS = ['api', 'dispatcher', 'signer', 'submitter', 'chain-follower'] as const

/** The first fault of each round, in turn, so that a few rounds cover everything. */
const KINDS = [
  'all',
  'signer',
  'anvil',
  'lies',
  'submitter',
  'reorg',
  'postgres',
  'chain-follower',
  'commits',
  'several',
  'deep reorg',
  'api',
  'pause',
  'disk',
  'dispatcher',
  'parent',
  'read-only',
  'slow',
  'queue',
  'restart',
  'pool',
  'connections',
  'fee',
] as const
export type Kind = (typeof KINDS)[number]

/** Frequency of the others: kills, reorgs and false answers are the most frequent. */
const WEIGHTS: Readonly<Partial<Record<Kind, number>>> = {
  signer: 3,
  submitter: 3,
  'chain-follower': 3,
  dispatcher: 2,
  api: 2,
  postgres: 2,
  several: 2,
  lies: 8,
  reorg: 6,
  'deep reorg': 3,
}

/** Average time between two faults. */
const EACH_MS = 1_200
/** Minimum time during which requests and faults overlap. */
const LEAST_MS = 9_000
const LATE_MS = 2_000
/** May orphan settled transactions, at the sandbox's two confirmations. */
const DEEP = [5, 12] as const

export type FaultPlan = {
  readonly faults: readonly Fault[]
  /** All of them occur within this time. */
  readonly withinMs: number
}

/** @param only allowed kinds; default all */
export function planFaults(
  random: Random,
  { round, count, only = KINDS }: { readonly round: number; readonly count: number; readonly only?: readonly Kind[] },
): FaultPlan {
  const withinMs = Math.max(LEAST_MS, count * EACH_MS)
  const first = only[round % only.length] as Kind
  const weighted = only.flatMap((kind) => Array.from({ length: WEIGHTS[kind] ?? 1 }, () => kind))
  const more = Array.from({ length: Math.max(0, count - 1) }, () => random.pick(weighted))
  const faults = [first, ...more].map((kind) => faultOf(random, kind, random.between(0, withinMs)))
  return { faults: faults.sort((a, b) => a.atMs - b.atMs), withinMs }
}

/** @throws Error for a word that is not a kind of fault */
export function readKinds(text: string): readonly Kind[] {
  return text.split(',').map((word) => {
    const kind = KINDS.find((one) => one === word)
    if (kind === undefined) throw new Error(`no fault is called ${word}: ${KINDS.join(', ')}`)
    return kind
  })
}

function faultOf(random: Random, kind: Kind, atMs: number): Fault {
  const network = random.pick(NETWORKS)
  const forMs = random.between(1_500, 4_000)
  switch (kind) {
    case 'all':
      return { type: 'kill all', atMs }
    case 'parent':
      return { type: 'kill parent', atMs }
    case 'pause':
      return { type: 'pause', atMs, name: random.pick(WORKERS), forMs: 2 * forMs }
    case 'several':
      return {
        type: 'kill',
        atMs,
        names: [...WORKERS, 'postgres', `anvil-${network}`].filter(() => random.chance(0.5)),
      }
    case 'anvil':
      return { type: 'kill', atMs, names: [`anvil-${network}`] }
    case 'restart':
      return { type: 'restart postgres', atMs }
    case 'connections':
      return { type: 'cut connections', atMs }
    case 'commits':
      return { type: 'cut commits', atMs, forMs, share: 0.3 }
    case 'slow':
      return { type: 'slow database', atMs, forMs: 2 * forMs, lateMs: LATE_MS }
    case 'read-only':
      return { type: 'read-only database', atMs, forMs }
    case 'disk':
      return { type: 'full disk', atMs, forMs }
    case 'lies':
      return { type: 'lies', atMs, networks: liars(random), forMs: 5 * forMs, share: 0.6 }
    case 'reorg':
      return { type: 'reorg', atMs, network, depth: random.between(1, 2), again: random.chance(0.5) }
    case 'deep reorg':
      return { type: 'reorg', atMs, network, depth: random.pick(DEEP), again: random.chance(0.5) }
    case 'pool':
      return { type: 'forget pool', atMs, network }
    case 'fee':
      return { type: 'base fee', atMs, network }
    case 'queue':
      return { type: 'empty queue', atMs }
    default:
      return { type: 'kill', atMs, names: [kind] }
  }
}

/** All networks as often as one: an outage of a provider affects every chain. */
function liars(random: Random): readonly Network[] {
  return random.chance(0.7) ? NETWORKS : [random.pick(NETWORKS)]
}

export function describeFault(fault: Fault): string {
  const at = `@${seconds(fault.atMs)}`
  switch (fault.type) {
    case 'kill':
      return `${fault.names.join('+') || 'nothing'}${at}`
    case 'pause':
      return `${fault.name} stopped for ${seconds(fault.forMs)}${at}`
    case 'kill all':
      return `everything${at}`
    case 'kill parent':
      return `parent${at}`
    case 'lies':
      return `${fault.networks.join('+')} lies for ${seconds(fault.forMs)}${at}`
    case 'reorg':
      return `${fault.network} reorg of ${fault.depth}${fault.again ? ', mined again' : ''}${at}`
    case 'forget pool':
    case 'base fee':
      return `${fault.network} ${fault.type}${at}`
    default:
      return `${fault.type}${'forMs' in fault ? ` for ${seconds(fault.forMs)}` : ''}${at}`
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)}s`
}
