/**
 * A party's part in creating a key, refreshing its shares, and repairing another party's share. The result is stored
 * durably before the coordinator is answered, and is in force only once the log names it.
 */

import { LRUCache } from 'lru-cache'
import type { Coverage } from '../coverage.ts'
import type { JointKey, JointKeysOf } from './ceremonies.ts'
import type { EngineCall } from './engine-calls.ts'
import type { EngineThread } from './engine-thread.ts'
import { keepShare, resultOf, withShare } from './handle-share.ts'
import { GENERATED, generationOf } from './loaded-shares.ts'
import type { PartyBans } from './party-bans.ts'
import type { Begin, ItemOutcome } from './protocol.ts'
import { RefusalError } from './refusal-error.ts'
import type { RoundTable } from './round-table.ts'
import { runSession, type Watch } from './run-session.ts'
import type { ShareStore } from './share-store.ts'
import { watchOver } from './signing-guard.ts'

/** Whether the log contains a request for the ceremony. @throws Unavailable when the log cannot be read */
export type CoversCeremony = (begin: Exclude<Begin, { readonly ceremony: 'sign' }>) => Promise<Coverage>

export type PartyCeremoniesPorts = {
  readonly me: number
  /** A separate thread: key generation takes seconds, and signatures must not wait for it. */
  readonly engine: EngineThread
  readonly store: ShareStore
  /** The bans of this party, shared with signing. */
  readonly bans: PartyBans
  readonly jointKeysOf: JointKeysOf
  readonly covers: CoversCeremony
}

type Seat = { readonly session: string; readonly table: RoundTable }
type Of<Ceremony extends Begin['ceremony']> = Extract<Begin, { readonly ceremony: Ceremony }>

export type PartyCeremonies = {
  /** The result is the public key, 33 bytes. */
  readonly generate: (begin: Of<'generate'>, seat: Seat) => Promise<readonly ItemOutcome[]>
  readonly refresh: (begin: Of<'refresh'>, seat: Seat) => Promise<readonly ItemOutcome[]>
  readonly repair: (begin: Of<'repair'>, seat: Seat) => Promise<readonly ItemOutcome[]>
}

/** Repaired shares that wait for their refresh; without one, the repair is started again. */
const REPAIRED = 100
const REPAIRED_MS = 10 * 60_000

export function createPartyCeremonies(ports: PartyCeremoniesPorts): PartyCeremonies {
  const { me, engine, store, bans, jointKeysOf } = ports
  const repaired = new LRUCache<string, Uint8Array>({
    max: REPAIRED,
    ttl: REPAIRED_MS,
    ttlAutopurge: true,
    dispose: (share) => share.fill(0),
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
      // A copy of the repaired share, since it is wiped after use and the refresh may be tried again.
      const share =
        target === me ? repaired.get(refreshId)?.slice() : (await store.load(keyId, generationOf(key))).share
      if (share === undefined) {
        throw new RefusalError({ kind: 'share_missing', party: null, reason: 'no share was recovered here' })
      }
      return withShare(engine, share, async (number) => {
        const call: EngineCall = { name: 'refresh', with: [{ share: number, refreshId: Buffer.from(session, 'hex') }] }
        const run = { engine, begin: [{ call }], others: others(key.parties.length, me), table }
        // Banned parties take part too: a party that cheats here no longer signs with the current shares.
        const watch = { ...watchOver(bans, [key], run.others, NOTHING_COUNTED), fallen: () => null }
        const outcome = await runSession({ ...run, watch })
        return keepShare({ engine, store }, { keyId, generation: refreshId }, outcome)
      })
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
        const { share } = await store.load(keyId, generationOf(key))
        return withShare(engine, share, async (number) => {
          const term = resultOf(
            await engine.run([{ name: 'help', with: [{ share: number, target, helpers, repairId }] }]),
          )
          table.send(1, target, term as Uint8Array)
          return [{ ok: true, result: EMPTY }]
        })
      }
      const terms = await table.gather(1)
      const share = resultOf(await engine.run([{ name: 'assemble', with: [{ target, helpers, terms }] }])) as Uint8Array
      // Together the terms are the share.
      for (const term of terms.values()) term.fill(0)
      repaired.set(refreshId, share)
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
const INVALID_PARTIES = { kind: 'invalid', party: null, reason: 'all parties of the key must take part' } as const

/** Whether these are 1, 2, … without a gap. */
function isWhole(parties: readonly number[]): boolean {
  return parties.every((party, place) => party === place + 1)
}

function others(parties: number, me: number): number[] {
  return Array.from({ length: parties }, (_, index) => index + 1).filter((party) => party !== me)
}
