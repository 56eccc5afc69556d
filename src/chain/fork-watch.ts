/**
 * Which fork's rules a chain runs: from the newest header, what `eth_config` (EIP-7910) says where a node has it, and a
 * probe. Read at most once per interval, in the background unless the last answer is old, and kept while no node answers.
 */
import { FORKS, type Fork, type GasRules, INTRINSIC_GAS, rulesOf } from './forks.ts'
import type { RpcReader, RpcRequest, RpcResult } from './json-rpc.ts'
import type { RpcLog } from './rpc-endpoint.ts'

/** Well below the time between blocks with which a fork is announced. */
const REFRESH_MS = 10_000
/** An answer of before a quiet time: a fork may have come since, so the caller waits for the next one. */
const OLD_MS = 2 * REFRESH_MS
/** How long a fork counts after a node last showed it: a replica that is behind, or has not been updated, ends none. */
const KEPT_MS = 600_000
/** From so long before the next fork gas is held for it too: what is signed before it may be in a block after it. */
const SOON_SECONDS = 180
/** How long a caller waits for a node. */
const WAIT_MS = 1_000
/** An estimate of a call of nothing: 21,000 before EIP-2780, which makes it 15,000. */
const PROBE = { to: '0x000000000000000000000000000000000000dead', value: '0x0', data: '0x' }

export type ForkStatus = {
  readonly fork: Fork
  /** What it was read from; `nothing`: no node has answered yet. */
  readonly source: 'eth_config' | 'header' | 'nothing'
  /** Why it counts as unknown, or `null`. */
  readonly problem: string | null
  /** When the nodes say that it began, ISO 8601; `null` if they do not say. */
  readonly since: string | null
  /** When the nodes expect the next fork, ISO 8601; `null` if they do not say. */
  readonly nextAt: string | null
  /** Whether that is in a few blocks, or over. */
  readonly isNextNear: boolean
}

export type ForkWatch = {
  /** @returns at once while the last answer is fresh; the last one, or `unknown`, if no node answers within a second */
  readonly status: () => Promise<ForkStatus>
  /** By whose rules gas is held: that of `status`, or the newest one that is known if the next one is near. */
  readonly fork: () => Promise<Fork>
  readonly rules: () => Promise<GasRules>
}

const NEWEST = 'amsterdam'
const UNREAD: ForkStatus = {
  fork: 'unknown',
  source: 'nothing',
  problem: 'no node has answered yet',
  since: null,
  nextAt: null,
  isNextNear: false,
}

export function createForkWatch({
  client,
  chain,
  now,
  log,
}: {
  readonly client: RpcReader
  readonly chain: { readonly network: string; readonly environment: string }
  /** A clock, ms. */
  readonly now: () => number
  readonly log: Pick<RpcLog, 'info' | 'warn'>
}): ForkWatch {
  let last: { readonly status: ForkStatus; readonly at: number } | null = null
  let reading: Promise<ForkStatus> | null = null
  let shownAt = Number.NEGATIVE_INFINITY

  const read = async (): Promise<ForkStatus> => {
    const shown = await readFork(client)
    const before = last?.status ?? null
    if (shown === null) return before ?? UNREAD
    const isBehind = before !== null && isEarlier(shown.fork, before.fork) && now() - shownAt < KEPT_MS
    const status = isBehind ? before : shown
    if (!isBehind) shownAt = now()
    last = { status, at: now() }
    if (status.fork !== before?.fork || status.problem !== before.problem) {
      const { network, environment } = chain
      const fields = { network, environment, fork: status.fork, before: before?.fork ?? null, source: status.source }
      if (status.fork === 'unknown')
        log.warn(
          { ...fields, problem: status.problem },
          'the fork of a chain is unknown: gas is held as nodes estimate it',
        )
      else log.info(fields, before === null ? 'the fork of a chain was read' : 'the fork of a chain has changed')
    }
    return status
  }
  const readOnce = (): Promise<ForkStatus> => {
    reading ??= read().finally(() => {
      reading = null
    })
    return reading
  }
  const status = async (): Promise<ForkStatus> => {
    if (last === null) return within(WAIT_MS, readOnce(), UNREAD)
    const age = Math.abs(now() - last.at)
    if (age >= OLD_MS) return within(WAIT_MS, readOnce(), last.status)
    if (age >= REFRESH_MS) void readOnce()
    return last.status
  }
  const fork = async () => forkToHold(await status())
  return { status, fork, rules: async () => rulesOf(await fork()) }
}

/** By whose rules gas is held: the newest one that is known if the next one is near. */
export function forkToHold({ fork, isNextNear }: Pick<ForkStatus, 'fork' | 'isNextNear'>): Fork {
  return isNextNear && fork !== 'unknown' ? NEWEST : fork
}

function isEarlier(fork: Fork, than: Fork): boolean {
  return fork !== 'unknown' && FORKS.indexOf(fork) < FORKS.indexOf(than as (typeof FORKS)[number])
}

/** The result, or `late` if it takes longer. A timer, not an AbortSignal: the error of each abort costs more. */
export async function within<Value>(ms: number, result: Promise<Value>, late: Value): Promise<Value> {
  let deadline: NodeJS.Timeout | undefined
  const timeout = new Promise<Value>((resolve) => {
    deadline = setTimeout(resolve, ms, late)
  })
  try {
    return await Promise.race([result, timeout])
  } finally {
    clearTimeout(deadline)
  }
}

const REQUESTS: readonly RpcRequest[] = [
  { method: 'eth_getBlockByNumber', params: ['latest', false] },
  { method: 'eth_config', params: [] },
  { method: 'eth_estimateGas', params: [PROBE] },
]

/** @returns `null` when no node answered with a header */
export async function readFork(client: RpcReader): Promise<ForkStatus | null> {
  const [header, config, probe] = (await client.batch(REQUESTS).catch(() => [])) as readonly RpcResult[]
  const fields = objectOf(header)
  if (fields === null) return null
  return judgeFork(fields, objectOf(config), gasOf(probe))
}

type Fields = Readonly<Record<string, unknown>>

/** Hashes and roots of a header that forks up to Amsterdam have; another one means a fork that nobody here knows. */
const KNOWN_HASHES = new Set([
  ...['hash', 'parentHash', 'mixHash', 'sha3Uncles', 'stateRoot', 'transactionsRoot', 'receiptsRoot'],
  ...['withdrawalsRoot', 'parentBeaconBlockRoot', 'requestsHash', 'blockAccessListHash'],
])
/** The precompile of EIP-7951, by its name in `eth_config`. */
const OSAKA_PRECOMPILE = 'P256VERIFY'

/**
 * @param header of the newest block
 * @param config the result of `eth_config`, if a node has it
 * @param probe gas of a call of nothing, if a node estimates it
 */
export function judgeFork(header: Fields, config: Fields | null, probe: bigint | null): ForkStatus {
  const current = fieldsOf(config?.current)
  const source = current === null ? 'header' : 'eth_config'
  const since = activationOf(current)
  const nextAt = activationOf(fieldsOf(config?.next))
  const isNextNear = nextAt !== null && Date.parse(nextAt) / 1_000 - Number(header.timestamp) < SOON_SECONDS
  const said = forkOf(header, fieldsOf(current?.precompiles))
  const problem = strangeField(header) ?? contradiction(said, probe)
  return { fork: problem === null ? said : 'unknown', source, problem, since, nextAt, isNextNear }
}

function forkOf(header: Fields, precompiles: Fields | null): Exclude<Fork, 'unknown'> {
  if (has(header, 'blockAccessListHash')) return 'amsterdam'
  if (has(header, 'requestsHash')) {
    // Their gas rules do not differ here: without eth_config the newer one is named.
    return precompiles === null || has(precompiles, OSAKA_PRECOMPILE) ? 'osaka' : 'prague'
  }
  if (has(header, 'parentBeaconBlockRoot') || has(header, 'blobGasUsed')) return 'cancun'
  return has(header, 'withdrawalsRoot') ? 'shanghai' : 'before_shanghai'
}

function strangeField(header: Fields): string | null {
  const strange = Object.keys(header).find((name) => /(Hash|Root)$/.test(name) && !KNOWN_HASHES.has(name))
  return strange === undefined ? null : `the header has the field ${strange}, which no known fork has`
}

/** Whether the nodes price a transaction as the fork that the header shows. */
function contradiction(fork: Exclude<Fork, 'unknown'>, probe: bigint | null): string | null {
  if (probe === null) return null
  // A tenth for nodes that search for the limit instead of computing it.
  const isCheaper = probe * 10n < INTRINSIC_GAS * 9n
  const isDearer = probe * 10n > INTRINSIC_GAS * 11n
  if (!isDearer && isCheaper === FORKS.indexOf(fork) >= FORKS.indexOf('amsterdam')) return null
  return `the header looks like ${fork}, but a node estimates ${probe} gas for a call of nothing`
}

function has(fields: Fields, name: string): boolean {
  return fields[name] != null
}

function activationOf(next: Fields | null): string | null {
  const seconds = next?.activationTime
  return typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds < 8.64e12
    ? new Date(seconds * 1_000).toISOString()
    : null
}

function fieldsOf(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null ? (value as Fields) : null
}

function objectOf(result: RpcResult | undefined): Fields | null {
  return result?.ok === true ? fieldsOf(result.value) : null
}

function gasOf(result: RpcResult | undefined): bigint | null {
  return result?.ok === true && typeof result.value === 'string' && /^0x[0-9a-f]{1,16}$/i.test(result.value)
    ? BigInt(result.value)
    : null
}
