/**
 * The policies of tenants as whoever signs believes them: from events whose hash chains it verifies, at the place of a request in the
 * log. A stream that goes back behind what this process has read is not believed until the process is started again.
 *
 * Invariant: the append locks the row of a policy before it gives positions to a request or to a change of the policy. So a request
 * was judged by the events with lower positions, and by no others.
 */
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { gathering } from '../core/gathering.ts'
import type { Policy } from '../core/policy.ts'
import type { Owner } from '../core/tenants.ts'
import { BrokenChain } from '../event-log/broken-chain.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import { readNext, type StreamPart, startOf } from '../event-log/read-next.ts'
import { EVENT_COLUMNS, type EventRow, ofEach, STORED_TEXTS } from '../event-log/rows.ts'
import { NOTHING_SET_ASIDE, readSetAside, type SetAside } from '../event-log/set-aside.ts'
import { EVENTS } from '../event-log/sql.ts'
import type { NewestEvent } from '../transactions/recorded-rows.ts'
import { policyAggregate, policyStreamId } from './aggregate.ts'
import { type CompiledPolicy, compilePolicy } from './compile.ts'
import type { PolicyEvent } from './events.ts'

/** A version, and where the event with its rules stands. */
export type PlacedVersion = { readonly version: number; readonly streamVersion: number; readonly hashBefore: string }

export type InForceAt = { readonly active: PlacedVersion | null; readonly shadow: PlacedVersion | null }

export type PlacedRequest = Owner & {
  /** Of its first event. */
  readonly position: bigint
  /** Of the stream of the policy, read after the request; `null` if it has none. With it, what is remembered is not read again. */
  readonly newestOfPolicy?: NewestEvent | null | undefined
}

export type RecordedPolicies = {
  /** What was in force for requests, by their positions; a sentence where that cannot be believed. @throws Unavailable */
  readonly inForceAt: (requests: readonly PlacedRequest[]) => Promise<readonly (InForceAt | string)[]>
  /** The rules of a version. @throws BrokenChain, also for rules that cannot be read */
  readonly rulesOf: (owner: Owner, placed: PlacedVersion) => Promise<CompiledPolicy>
}

/** What was in force from a position of the log on. */
type Turn = InForceAt & { readonly position: bigint }
type History = { readonly part: StreamPart<null>; readonly turns: Turn[]; problem: string | null }
type Wanted = { readonly id: string; readonly version: number; readonly hash: string }

/** Owners whose histories are remembered: 200 bytes for each version. */
const MAX_OWNERS = 10_000
/** Characters of JSON of the compiled policies of all tenants: they take about four times as many bytes. */
const MAX_CHARACTERS = 16_000_000
/** Events of a stream in one statement, each of half a megabyte at most. */
const MOST_EVENTS = 16

const NOTHING: InForceAt = { active: null, shadow: null }

export function createRecordedPolicies(pool: Pool): RecordedPolicies {
  const histories = new LRUCache<string, History>({ max: MAX_OWNERS })
  const compiled = new LRUCache<string, CompiledPolicy>({ maxSize: MAX_CHARACTERS, maxEntrySize: MAX_CHARACTERS })

  const read = gathering(
    async (ids: readonly string[]) => {
      for (let open = [...new Set(ids)]; open.length > 0; ) {
        const wanted = open.map((id): Wanted => {
          const { version = 0, hash = '', held = null, isSetAside = true } = histories.get(id)?.part ?? {}
          // From the start, with what was set aside since.
          if (held !== null && !isSetAside) histories.delete(id)
          return held !== null && !isSetAside ? { id, version: 0, hash: '' } : { id, version, hash }
        })
        const rows = await readFrom(pool, wanted)
        const isFirst = wanted.some(({ version }, index) => version === 0 && (rows[index]?.length ?? 0) > 0)
        const setAside = isFirst ? await readSetAside(pool) : NOTHING_SET_ASIDE
        open = wanted.flatMap((one, index) => (goesOn(one, rows[index] ?? [], setAside) ? [one.id] : []))
      }
      return ids.map((id) => histories.get(id) ?? null)
    },
    { isShared: isConnectionFailure },
  )

  /** @returns whether the stream must be read once more */
  function goesOn({ id, version, hash }: Wanted, rows: readonly EventRow[], setAside: SetAside): boolean {
    const known = histories.get(id)
    if (rows.length === 0 && version === 0) return false
    const history = known ?? { part: startOf(null), turns: [], problem: null }
    histories.set(id, history)
    if (version > 0 && rows[0]?.hash.toString('hex') !== hash) {
      history.problem ??= `the log has not all versions of the policy that this process has read: if the database was restored, restart this process`
      return false
    }
    for (const row of rows) if (row.stream_version > history.part.version) take(history, row, setAside)
    const { held, isSetAside } = history.part
    if (held === null || isSetAside) return rows.length > MOST_EVENTS
    if (version === 0) history.problem = held
    return version > 0
  }

  /** `null`: there is no stream; `undefined`: it must be read. */
  function remembered({ newestOfPolicy: newest, ...owner }: PlacedRequest): History | null | undefined {
    const known = histories.get(policyStreamId(owner))
    if (newest === undefined || known === undefined) return newest === null ? null : undefined
    const { version, hash, held } = known.part
    return held === null && version === newest?.version && hash === newest.hash ? known : undefined
  }

  return {
    async inForceAt(requests) {
      const known = requests.map(remembered)
      const unread = requests.flatMap((one, index) => (known[index] === undefined ? [policyStreamId(one)] : []))
      const found = (await read(unread)).values()
      return requests.map(({ position }, index) => {
        const history = known[index] === undefined ? found.next().value : known[index]
        if (!history) return NOTHING
        return history.problem ?? history.turns.findLast((turn) => turn.position < position) ?? NOTHING
      })
    },
    async rulesOf(owner, placed) {
      const id = policyStreamId(owner)
      const name = `${id} ${placed.streamVersion} ${placed.hashBefore}`
      const known = compiled.get(name)
      if (known !== undefined) return known
      const { policy } = await readRules(pool, id, placed)
      const made = compiledOf(policy, placed.version)
      compiled.set(name, made, { size: JSON.stringify(policy).length })
      return made
    },
  }
}

function compiledOf(policy: Policy, version: number): CompiledPolicy {
  try {
    return compilePolicy(policy, version)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new BrokenChain(`Version ${version} of the policy cannot be read: ${reason}.`)
  }
}

const READS = {
  schemas: policyAggregate.schemas,
  whenSetAside: 'end',
  evolve: (_: null, event: PolicyEvent) => void event,
} as const

function take({ part, turns }: History, row: EventRow, setAside: SetAside): void {
  const hashBefore = part.hash
  const event = readNext<null, PolicyEvent>(READS, part, row, { hashes: true, setAside })
  if (event === null) return
  const before = turns.at(-1) ?? NOTHING
  const after = inForceAfter(before, event, { streamVersion: row.stream_version, hashBefore })
  if (after !== before) turns.push({ position: BigInt(row.position), ...after })
}

/** As `policyDecider` evolves it, without the rules. */
function inForceAfter(
  before: InForceAt,
  { type, data }: PolicyEvent,
  place: Omit<PlacedVersion, 'version'>,
): InForceAt {
  if (type === 'PolicyShadowed') return { active: before.active, shadow: { version: data.version, ...place } }
  if (type === 'PolicyShadowEnded') return { active: before.active, shadow: null }
  if (type !== 'PolicyPublished') return before
  const isShadow = before.shadow?.version === data.version
  return { active: { version: data.version, ...place }, shadow: isShadow ? null : before.shadow }
}

/** The newest known event of each stream, and those behind it. */
async function readFrom(pool: Pool, wanted: readonly Wanted[]): Promise<readonly (readonly EventRow[])[]> {
  const { rows } = await pool.query<EventRow>({
    name: 'policies_from',
    // LATERAL with OFFSET: one index look-up for each stream, whatever the statistics say.
    text: `SELECT e.* FROM unnest($1::text[], $2::integer[]) AS wanted(id, version) CROSS JOIN LATERAL
             (SELECT position, transaction_id::text, stream_id, stream_version, type, schema_version, metadata, recorded_at, hash,
                     CASE WHEN stream_version > wanted.version THEN data END AS data
                FROM ${EVENTS} AS events WHERE stream_id = wanted.id AND stream_version >= wanted.version
               ORDER BY stream_version LIMIT ${MOST_EVENTS + 1} OFFSET 0) AS e`,
    values: [wanted.map(({ id }) => id), wanted.map(({ version }) => version)],
    types: STORED_TEXTS,
  })
  return ofEach(
    wanted.map(({ id }) => id),
    rows,
  )
}

/** @throws BrokenChain */
async function readRules(pool: Pool, id: string, { streamVersion, hashBefore }: PlacedVersion) {
  const { rows } = await pool.query<EventRow>({
    name: 'policy_rules',
    text: `SELECT ${EVENT_COLUMNS} FROM ${EVENTS} AS events WHERE stream_id = $1 AND stream_version = $2`,
    values: [id, streamVersion],
    types: STORED_TEXTS,
  })
  const part: StreamPart<null> = { ...startOf(null), version: streamVersion - 1, hash: hashBefore }
  const [event] = rows.map((row) => readNext<null, PolicyEvent>(READS, part, row, { hashes: true }))
  if (event?.type === 'PolicyPublished' || event?.type === 'PolicyShadowed') return event.data
  throw new BrokenChain(part.held ?? `Event ${streamVersion} of ${id} is not there.`)
}
