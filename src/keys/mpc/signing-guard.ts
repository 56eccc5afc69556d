/**
 * Limits what one party runs concurrently with a key. Each instance of the protocol lets a counterparty guess at a
 * secret, so only few run at once, and none continues after a wrong guess: a ban stops every instance of the pair, in
 * all sessions, before any further message is sent (DKLs23, section 3.2).
 */
import type { IntentRef } from '../signer.ts'
import type { JointKey } from './ceremonies.ts'
import type { CheckCounts } from './check-counts.ts'
import { generationOf } from './loaded-shares.ts'
import type { PartyBans } from './party-bans.ts'
import type { Refusal } from './protocol.ts'
import type { Watch } from './run-session.ts'

/** Concurrent instances of the protocol for one key with one counterparty. */
export const MAX_INSTANCES = 8

/** An item that a party is about to sign; null for one that it has already refused. */
export type Wanted = { readonly key: JointKey; readonly intent: IntentRef } | null

export type Admission = {
  /** For each item in order, why it may not begin, or null. */
  readonly refusals: readonly (Refusal | null)[]
  /** Watches the items of the session from here to its end. */
  readonly watch: Watch
  /** Releases the slots. Call once, when the session has ended. */
  readonly leave: () => void
}

export type SigningGuard = {
  /** @throws Unavailable `mpc_count_failed` */
  readonly enter: (wanted: readonly Wanted[], others: readonly number[]) => Promise<Admission>
}

export function createSigningGuard({
  bans,
  counts,
}: {
  readonly bans: PartyBans
  readonly counts: CheckCounts
}): SigningGuard {
  const instances = new Map<string, number>()
  const intents = new Set<string>()

  function take({ key, intent }: NonNullable<Wanted>, others: readonly number[], release: (() => void)[]) {
    const pairs = others.map((party) => `${key.keyId} ${generationOf(key)} ${party}`)
    const running = `${intent.kind} ${intent.id}`
    if (intents.has(running)) return busy('this party is already signing this in another session')
    if (pairs.some((pair) => (instances.get(pair) ?? 0) >= MAX_INSTANCES)) {
      return busy(`${MAX_INSTANCES} signatures of this key are in progress with the same party`)
    }
    intents.add(running)
    for (const pair of pairs) instances.set(pair, (instances.get(pair) ?? 0) + 1)
    release.push(() => {
      intents.delete(running)
      for (const pair of pairs) {
        const left = (instances.get(pair) ?? 1) - 1
        if (left === 0) instances.delete(pair)
        else instances.set(pair, left)
      }
    })
    return null
  }

  /** @returns by key, why it may not be used now; and a promise for the durable count of the others */
  async function count(keys: readonly JointKey[], others: number) {
    const refused = new Map<string, Refusal>()
    const kept: Promise<void>[] = []
    for (const key of new Set(keys)) {
      const checks = keys.filter((each) => each === key).length * others
      const { state, kept: durable } = await counts.count(key, checks)
      if (state !== 'fine') refused.set(key.keyId, { kind: 'worn', party: null, reason: WORN[state] })
      kept.push(durable)
    }
    return { refused, kept: Promise.all(kept).then(() => undefined) }
  }

  return {
    async enter(wanted, others) {
      const release: (() => void)[] = []
      const taken = wanted.map((each) => (each === null ? null : take(each, others, release)))
      const leave = () => {
        for (const give of release.splice(0)) give()
      }
      try {
        const admitted = wanted.flatMap((each, place) => (each === null || taken[place] !== null ? [] : [each.key]))
        const { refused, kept } = await count(admitted, others.length)
        kept.catch(() => undefined) // Awaited by the session, unless it ends before it needs it.
        const refusals = wanted.map((each, place) => taken[place] ?? (each && refused.get(each.key.keyId)) ?? null)
        return { refusals, watch: watchOver(bans, keysOf(wanted), others, kept), leave }
      } catch (error) {
        leave()
        throw error
      }
    },
  }
}

const WORN = {
  due: 'the shares of this key have made many signatures: refresh them; signing continues meanwhile',
  worn: 'the shares of this key have reached their limit of signatures: refresh them',
} as const

function keysOf(wanted: readonly Wanted[]): readonly (JointKey | null)[] {
  return wanted.map((each) => each?.key ?? null)
}

function busy(reason: string): Refusal {
  return { kind: 'busy', party: null, reason }
}

/**
 * Watches the items of one session.
 *
 * @param keys of each item in order; null for one that did not begin
 */
export function watchOver(
  bans: PartyBans,
  keys: readonly (JointKey | null)[],
  others: readonly number[],
  counted: Promise<void>,
): Watch {
  const distinct = new Map(keys.flatMap((key) => (key === null ? [] : [[key.keyId, key] as const])))
  return {
    counted,
    fallen(place) {
      const key = keys[place]
      if (!key) return null
      const party = others.find((other) => bans.of(key).includes(other))
      return party === undefined ? null : bannedRefusal(party)
    },
    onCheated(place, party) {
      const key = keys[place]
      if (!key) return []
      bans.add(key, party).catch(() => undefined) // Retried by `unkept`.
      return keys.flatMap((each, index) => (each?.keyId === key.keyId ? [index] : []))
    },
    unkept() {
      const writing = [...distinct.values()].flatMap((key) => bans.unkept(key) ?? [])
      return writing.length === 0 ? undefined : Promise.all(writing).then(() => undefined)
    },
  }
}

export function bannedRefusal(party: number): Refusal {
  return { kind: 'banned', party, reason: 'it failed a consistency check: refresh the shares of this key' }
}
