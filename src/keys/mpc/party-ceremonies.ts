/**
 * A party's part in creating a key, refreshing its shares, and repairing another party's share. The result is stored
 * durably before the coordinator is answered, and is in force only once the log names it.
 */

import { LRUCache } from 'lru-cache'
import type { Coverage } from '../coverage.ts'
import { AGREEMENT_ROUNDS, type AskedShares, agreeOnShares } from './agree-on-shares.ts'
import type { JointKey, JointKeysOf } from './ceremonies.ts'
import type { EngineCall } from './engine-calls.ts'
import type { EngineThread } from './engine-thread.ts'
import { keepShare, resultOf, withShare } from './handle-share.ts'
import { GENERATED } from './loaded-shares.ts'
import type { PartyBans } from './party-bans.ts'
import { decodePayloads, encodePayloads } from './payloads.ts'
import type { Begin, ItemOutcome } from './protocol.ts'
import { RefusalError, refusalOf } from './refusal-error.ts'
import type { RoundTable } from './round-table.ts'
import { runSession, type Watch } from './run-session.ts'
import type { ShareStore } from './share-store.ts'
import { watchOver } from './signing-guard.ts'

/** Whether the log contains a request for the ceremony. @throws Unavailable when the log cannot be read */
export type CoversCeremony = (begin: Exclude<Begin, { readonly ceremony: 'sign' }>) => Promise<Coverage>

type Seat = { readonly session: string; readonly table: RoundTable }
type Of<Ceremony extends Begin['ceremony']> = Extract<Begin, { readonly ceremony: Ceremony }>

export type PartyCeremonies = {
  /** The result is the public key, 33 bytes. */
  readonly generate: (begin: Of<'generate'>, seat: Seat) => Promise<readonly ItemOutcome[]>
  readonly refresh: (begin: Of<'refresh'>, seat: Seat) => Promise<readonly ItemOutcome[]>
  readonly repair: (begin: Of<'repair'>, seat: Seat) => Promise<readonly ItemOutcome[]>
}

type Repaired = { readonly generation: string; readonly share: Uint8Array }

/** Repaired shares that wait for their refresh; without one, the repair is started again. */
const REPAIRED = 100
const REPAIRED_MS = 10 * 60_000

export function createPartyCeremonies(ports: {
  readonly me: number
  /** A separate thread: key generation takes seconds, and signatures must not wait for it. */
  readonly engine: EngineThread
  readonly store: ShareStore
  /** The bans of this party, shared with signing. */
  readonly bans: PartyBans
  readonly jointKeysOf: JointKeysOf
  readonly covers: CoversCeremony
}): PartyCeremonies {
  const { me, engine, store, jointKeysOf } = ports
  const making = new Set<string>()
  const repaired = new LRUCache<string, Repaired>({
    max: REPAIRED,
    ttl: REPAIRED_MS,
    ttlAutopurge: true,
    dispose: ({ share }) => share.fill(0),
  })

  async function keyOf(keyId: string): Promise<JointKey> {
    const key = (await jointKeysOf([keyId])).get(keyId)
    if (key !== undefined) return key
    throw new RefusalError({ kind: 'key_unknown', party: null, reason: `the log has no key ${keyId}` })
  }

  async function requireCovered(begin: Parameters<CoversCeremony>[0]): Promise<void> {
    const verdict = await ports.covers(begin)
    if (!verdict.covered) throw new RefusalError({ kind: 'not_covered', party: null, reason: verdict.rule })
  }

  return {
    async generate(begin, { session, table }) {
      const { keyId, threshold, parties: all } = begin
      const parties = all.length
      if (!isWhole(all)) throw new RefusalError(INVALID_PARTIES)
      if ((await jointKeysOf([keyId])).has(keyId)) {
        throw new RefusalError({ kind: 'invalid', party: null, reason: 'the log already has this key' })
      }
      await requireCovered(begin)
      const sessionId = Buffer.from(session, 'hex')
      const call: EngineCall = { name: 'generate', with: [{ party: me, threshold, parties, sessionId }] }
      const run = { engine, begin: [{ call }], others: others(parties, me), table }
      const outcome = await runSession({ ...run, watch: NO_WATCH })
      return keepShare({ engine, store }, { keyId, generation: GENERATED }, outcome)
    },

    async refresh(begin, { session, table }) {
      const { keyId, refreshId, parties, repaired: target } = begin
      const key = await keyOf(keyId)
      await requireCovered(begin)
      if (!isWhole(parties) || parties.length !== key.parties.length) throw new RefusalError(INVALID_PARTIES)
      const mine = target === me ? repaired.get(`${keyId} ${refreshId}`) : undefined
      if (target === me && mine === undefined) {
        throw new RefusalError({ kind: 'share_missing', party: null, reason: 'no share was recovered here' })
      }
      return once(making, `${keyId} ${refreshId}`, () => makeNewShare(ports, { key, begin, mine }, { session, table }))
    },

    async repair(begin, { session, table }) {
      const { keyId, refreshId, target, helpers } = begin
      const key = await keyOf(keyId)
      await requireCovered(begin)
      if (key.banned.some((party) => helpers.includes(party))) {
        throw new RefusalError({ kind: 'banned', party: null, reason: 'a banned party cannot help' })
      }
      const repairId = Buffer.from(session, 'hex')
      if (target !== me) {
        const others = helpers.filter((party) => party !== me)
        const asked = { key, begin: { refreshId, repaired: target }, held: await openable(store, keyId), others, table }
        const generation = await agreeOnShares(asked)
        const { share } = await store.load(keyId, generation)
        return withShare(engine, share, async (number) => {
          const term = resultOf(
            await engine.run([{ name: 'help', with: [{ share: number, target, helpers, repairId }] }]),
          )
          table.send(1, target, encodePayloads([Buffer.from(generation), term as Uint8Array]))
          return [{ ok: true, result: EMPTY }]
        })
      }
      const { generation, terms } = readTerms(await table.gather(1))
      const share = resultOf(await engine.run([{ name: 'assemble', with: [{ target, helpers, terms }] }])) as Uint8Array
      // Together the terms are the share.
      for (const term of terms.values()) term.fill(0)
      repaired.set(`${keyId} ${refreshId}`, { generation, share })
      return [{ ok: true, result: EMPTY }]
    },
  }
}

const EMPTY = new Uint8Array()
const NOTHING_COUNTED = Promise.resolve()
/** A new key has no shares to protect: cheating only spoils a key that will not be used. */
const NO_WATCH: Watch = {
  counted: NOTHING_COUNTED,
  fallen: () => null,
  onCheated: (place) => [place],
  unkept: () => undefined,
}
const MADE_BEFORE = {
  kind: 'invalid',
  party: null,
  reason: 'this attempt was made before: each needs its own id',
} as const
const INVALID_PARTIES = { kind: 'invalid', party: null, reason: 'all parties of the key must take part' } as const

/** Runs what must not run twice at the same time. */
async function once<T>(running: Set<string>, id: string, work: () => Promise<T>): Promise<T> {
  if (running.has(id)) throw new RefusalError(MADE_BEFORE)
  running.add(id)
  try {
    return await work()
  } finally {
    running.delete(id)
  }
}

/**
 * One attempt of a refresh. A party that has the share of an attempt takes part in no other one with this id: otherwise
 * two parties could hold shares under the same id that do not fit.
 */
async function makeNewShare(
  { me, engine, store, bans }: Parameters<typeof createPartyCeremonies>[0],
  { key, begin, mine }: { readonly key: JointKey; readonly begin: Of<'refresh'>; readonly mine: Repaired | undefined },
  { session, table }: Seat,
): Promise<readonly ItemOutcome[]> {
  const { keyId, refreshId } = begin
  if (store.generationsOf(keyId).includes(refreshId)) throw new RefusalError(MADE_BEFORE)
  const peers = others(key.parties.length, me)
  const share = await agreedShare(store, { key, begin, mine, others: peers, table })
  return withShare(engine, share, async (number) => {
    const call: EngineCall = { name: 'refresh', with: [{ share: number, refreshId: Buffer.from(session, 'hex') }] }
    const run = { engine, begin: [{ call }], others: peers, table: afterAgreement(table) }
    // Banned parties take part too: a party that cheats here no longer signs with the current shares.
    const watch = { ...watchOver(bans, [key], run.others, NOTHING_COUNTED), fallen: () => null }
    const outcome = await runSession({ ...run, watch })
    return keepShare({ engine, store }, { keyId, generation: refreshId }, outcome)
  })
}

/**
 * This party's share of the generation with which all parties begin a refresh.
 *
 * @param mine the repaired share of a party that lost its own
 */
async function agreedShare(
  store: ShareStore,
  { mine, ...asked }: Omit<AskedShares, 'held'> & { readonly mine: Repaired | undefined },
): Promise<Uint8Array> {
  const { keyId } = asked.key
  const held = mine === undefined ? await openable(store, keyId) : [mine.generation]
  const generation = await agreeOnShares({ ...asked, held })
  // A copy of the repaired share, since it is wiped after use and the refresh may be tried again.
  return mine === undefined ? (await store.load(keyId, generation)).share : mine.share.slice()
}

/** The generations of a key whose shares can be opened. */
async function openable(store: ShareStore, keyId: string): Promise<readonly string[]> {
  const opened: string[] = []
  for (const generation of store.generationsOf(keyId)) {
    const stored = await store.load(keyId, generation).catch((error: unknown) => {
      if (refusalOf(error).kind === 'share_missing') return undefined
      throw error
    })
    if (stored !== undefined) opened.push(generation)
    stored?.share.fill(0)
  }
  return opened
}

/** The terms of a repair. The refresh begins with shares of the generation that all helpers used. */
function readTerms(gathered: ReadonlyMap<number, Uint8Array>) {
  const generations = new Set<string>()
  const terms = new Map<number, Uint8Array>()
  for (const [party, payload] of gathered) {
    const [generation, term] = decodePayloads(payload, 2) ?? []
    if (generation == null || term == null)
      throw new RefusalError({ kind: 'given_up', party, reason: 'it sent no term of the share' })
    generations.add(Buffer.from(generation).toString())
    terms.set(party, term)
  }
  const [generation, ...more] = generations
  if (generation !== undefined && more.length === 0) return { generation, terms }
  throw new RefusalError({ kind: 'refused', party: null, reason: 'the helpers used shares of different generations' })
}

function afterAgreement(table: RoundTable): RoundTable {
  return {
    ...table,
    send: (round, party, payload) => table.send(AGREEMENT_ROUNDS + round, party, payload),
    gather: (round) => table.gather(AGREEMENT_ROUNDS + round),
  }
}

/** Whether these are 1, 2, … without a gap. */
function isWhole(parties: readonly number[]): boolean {
  return parties.every((party, place) => party === place + 1)
}

function others(parties: number, me: number): number[] {
  return Array.from({ length: parties }, (_, index) => index + 1).filter((party) => party !== me)
}
