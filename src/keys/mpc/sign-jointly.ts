/**
 * Signs with joint keys: any `t` of a key's parties make a signature. Prefers parties that are reachable and were not
 * late recently, tries others when some fail, and returns only verified signatures.
 */
import { Unavailable } from '../../core/errors.ts'
import type { RecoverableSignature } from '../recoverable-signature.ts'
import { recoveredAddress } from '../recovered-address.ts'
import { NonceClaimed, SigningRefused } from '../signer.ts'
import type { JointKey, JointKeysOf } from './ceremonies.ts'
import type { Answers, Coordinator } from './coordinator.ts'
import { createLimit } from './limit.ts'
import { createPairLimit } from './pair-limit.ts'
import { type ItemOutcome, MAX_ITEMS, type Refusal, type SigningItem } from './protocol.ts'
import { createSignerChoice } from './signer-choice.ts'
import { MAX_INSTANCES } from './signing-guard.ts'

/**
 * Concurrent sessions: while some wait for messages, others compute. Calls take turns: a short one does not wait for all of a
 * long one.
 */
const SESSIONS_AT_ONCE = 4
/** Refusals after which other parties are preferred. */
const ITS_FAULT: ReadonlySet<Refusal['kind']> = new Set([
  'stalled',
  'share_missing',
  'unavailable',
  'banned',
  'cheated',
])
/** Different sets of parties to try before the call fails. */
const MAX_TRIES = 4

export type JointSignature = SigningItem & { readonly digest: Uint8Array }

/** A party of a session reports that another one failed a check. Nobody else can verify this. */
export type Accused = {
  readonly keyId: string
  /** The epoch of the shares that were used; null during key generation. */
  readonly epoch: number | null
  readonly party: number
  readonly accusedBy: number
  readonly reason: string
}

/**
 * Signs the items in order, as far as possible: the result may be shorter than the input, but is never empty.
 *
 * @throws Unavailable when not even the first could be signed: `mpc_parties_unavailable`, `mpc_refused`,
 *   `mpc_sign_failed`
 */
export type SignJointly = (items: readonly JointSignature[]) => Promise<readonly RecoverableSignature[]>

type Entry = { readonly place: number; readonly item: JointSignature; readonly key: JointKey }

export function createSignJointly(ports: {
  readonly coordinator: Pick<Coordinator, 'ask' | 'reachable'>
  readonly jointKeysOf: JointKeysOf
  /** Records one party's accusation of another, before the failed items are tried again. */
  readonly onAccused: (accused: Accused) => Promise<void>
  /** The shares of a key have been used for many checks and should be refreshed. */
  readonly onWorn: (keyId: string) => Promise<void>
  /** Called for every item that a party refused, for logs and metrics. */
  readonly onRefused: (item: SigningItem, party: number, refusal: Refusal) => void
  readonly timeoutMs: number
  readonly now: () => number
}): SignJointly {
  const limit = createLimit(SESSIONS_AT_ONCE)
  const pairLimit = createPairLimit(MAX_INSTANCES)
  const choice = createSignerChoice({ reachable: ports.coordinator.reachable, now: ports.now })

  async function runSession(signers: readonly number[], entries: readonly Entry[]): Promise<Map<number, Signed>> {
    const finisher = signers[0] as number
    const items = entries.map(({ item: { keyId, intent, subject } }) => ({ keyId, intent, subject }))
    const answers = await ports.coordinator.ask(
      signers,
      { ceremony: 'sign', signers, finisher, items },
      { timeoutMs: ports.timeoutMs, enough: (so) => so.get(finisher)?.every(({ ok }) => ok) === true },
    )
    await report(signers, entries, answers)
    const results = entries.map(({ place, item, key }, index): [number, Signed] => {
      const result = verified(answers.get(finisher)?.[index], item, key)
      return [place, result.ok ? result : { ok: false, refusal: mostTelling(answers, index) ?? result.refusal }]
    })
    if (results.every(([, { ok }]) => ok)) choice.clear(signers)
    return new Map(results)
  }

  async function report(signers: readonly number[], entries: readonly Entry[], answers: Answers): Promise<void> {
    const refused = [...answers].flatMap(([party, outcome]) =>
      outcome.flatMap((item, index) => {
        const entry = entries[index]
        return item.ok || entry === undefined ? [] : [{ party, entry, refusal: item.refusal }]
      }),
    )
    // First of all, whether or not the records succeed: the next session is about to be composed.
    choice.strike(
      new Set(
        refused
          .filter(({ refusal }) => ITS_FAULT.has(refusal.kind))
          .flatMap(({ party, refusal }) => [party, refusal.party ?? party])
          .filter((party) => signers.includes(party)),
      ),
    )
    for (const { party, entry, refusal } of refused) ports.onRefused(entry.item, party, refusal)
    const accusations = new Map(
      refused.flatMap((each) => {
        const accused = accusationOf(each, signers)
        return accused === null ? [] : [[`${accused.keyId} ${accused.accusedBy} ${accused.party}`, accused] as const]
      }),
    )
    for (const accused of accusations.values()) await ports.onAccused(accused)
    const worn = refused.filter(({ refusal }) => refusal.kind === 'worn').map(({ entry }) => entry.item.keyId)
    for (const keyId of new Set(worn)) await ports.onWorn(keyId)
  }

  return async (items) => {
    const signed = new Map<number, RecoverableSignature>()
    let first: Refusal | null = null
    const bound = new Map<string, number>()
    for (let tries = 0; tries < MAX_TRIES && signed.size < items.length; tries += 1) {
      const keys = await ports.jointKeysOf(items.map(({ keyId }) => keyId))
      const open = items.flatMap((item, place): Entry[] => {
        const key = keys.get(item.keyId)
        if (key === undefined) throw new Unavailable('mpc_key_unknown', `The log has no mpc key ${item.keyId}.`)
        return signed.has(place) ? [] : [{ place, item, key }]
      })
      const results = await Promise.all(
        sessionsOf(open, choice.choose).map(({ signers, entries }) =>
          pairLimit({ signers, keys: entries.map(({ key }) => key) }, () =>
            limit(() => runSession(signers, entries), items),
          ),
        ),
      )
      for (const [place, result] of results.flatMap((each) => [...each])) {
        note(bound, items[place] as JointSignature, result)
        if (result.ok) signed.set(place, result.signature)
        else if (place === 0) first = moreTelling(first, result.refusal)
      }
    }
    const prefix = items.findIndex((_, place) => !signed.has(place))
    const whole = prefix === -1 ? items.length : prefix
    if (whole === 0 && items.length > 0) throw failed(items[0] as JointSignature, first, bound)
    return items.slice(0, whole).map((_, place) => signed.get(place) as RecoverableSignature)
  }
}

type Session = { readonly signers: readonly number[]; readonly entries: readonly Entry[] }

/** Items whose keys use the same parties share a session, up to its maximum size. */
function sessionsOf(entries: readonly Entry[], choose: (key: JointKey) => readonly number[]): readonly Session[] {
  const alike = new Map<string, Entry[]>()
  for (const entry of entries) {
    const { threshold, parties, banned, apart } = entry.key
    const name = `${threshold} ${parties.join()} ${banned.join()} ${apart.join()}`
    const group = alike.get(name)
    if (group === undefined) alike.set(name, [entry])
    else group.push(entry)
  }
  return [...alike.values()].flatMap((group) => {
    // A few signatures are spread over the sessions that may run at once.
    const size = Math.min(MAX_ITEMS, Math.max(1, Math.ceil(group.length / SESSIONS_AT_ONCE)))
    return Array.from({ length: Math.ceil(group.length / size) }, (_, index) => {
      const part = group.slice(index * size, (index + 1) * size)
      return { signers: choose((part[0] as Entry).key), entries: part }
    })
  })
}

/**
 * The accusation in a refusal, if it concerns another signer of the session. A party's own ban that the log does not
 * have yet is equivalent.
 */
function accusationOf(
  { party, entry, refusal }: { readonly party: number; readonly entry: Entry; readonly refusal: Refusal },
  signers: readonly number[],
): Accused | null {
  const { keyId, epoch, banned, apart } = entry.key
  const about = refusal.party
  if (refusal.kind !== 'cheated' && refusal.kind !== 'banned') return null
  if (about === null || about === party || !signers.includes(about)) return null
  if (banned.includes(about) || apart.some(([by, of]) => by === party && of === about)) return null
  return { keyId, epoch, party: about, accusedBy: party, reason: refusal.reason }
}

type Signed =
  | { readonly ok: true; readonly signature: RecoverableSignature }
  | { readonly ok: false; readonly refusal: Refusal }

/**
 * The most informative reason why an item was not signed: `given_up` because of another party is less informative than
 * that party's own answer.
 */
function mostTelling(answers: Answers, index: number): Refusal | undefined {
  const refusals = [...answers.values()].flatMap((outcome) => {
    const item = outcome[index]
    return item === undefined || item.ok ? [] : [item.refusal]
  })
  const telling = refusals.filter(({ kind }) => kind !== 'given_up')
  return telling.length === 0 ? undefined : telling.reduce(moreTelling)
}

/** What names a nonce, or who has it, tells what to do; of others the newer counts. */
function moreTelling(before: Refusal | null, refusal: Refusal): Refusal {
  const rank = (of: Refusal | null) => (of?.nonce !== undefined ? 2 : of?.holder !== undefined ? 1 : 0)
  return before !== null && rank(before) > rank(refusal) ? before : refusal
}

/** 65 bytes that recover to the key's address; anything else is not a signature. */
function verified(outcome: ItemOutcome | undefined, { digest }: JointSignature, key: JointKey): Signed {
  if (outcome === undefined) return { ok: false, refusal: invalid('the finishing party did not answer') }
  if (!outcome.ok) return outcome
  const recoveryId = outcome.result[64]
  if (outcome.result.length !== 65 || (recoveryId !== 0 && recoveryId !== 1)) {
    return { ok: false, refusal: invalid('the finishing party returned no valid signature') }
  }
  const signature = outcome.result.subarray(0, 64)
  return recoveredAddress(digest, signature, recoveryId) === key.address.toLowerCase()
    ? { ok: true, signature: { signature, recoveryId } }
    : { ok: false, refusal: invalid('the signature does not match the key') }
}

function invalid(reason: string): Refusal {
  return { kind: 'refused', party: null, reason }
}

/** Notes which nonce a transaction has, or who has the one that was wanted for it. */
function note(bound: Map<string, number>, { intent, subject }: SigningItem, result: Signed): void {
  if (subject.kind !== 'transaction') return
  const { nonce } = subject.transaction
  if (result.ok) bound.set(intent.id, nonce)
  else if (result.refusal.nonce !== undefined) bound.set(intent.id, result.refusal.nonce)
  else if (result.refusal.holder !== undefined) bound.set(result.refusal.holder, nonce)
}

function failed(
  { intent, subject }: SigningItem,
  refusal: Refusal | null,
  bound: ReadonlyMap<string, number>,
): Unavailable {
  if (refusal?.nonce !== undefined) return new NonceClaimed(intent.id, refusal.nonce, bound)
  if (refusal?.holder !== undefined && subject.kind === 'transaction')
    return new NonceClaimed(refusal.holder, subject.transaction.nonce, bound)
  if (refusal?.kind === 'not_covered' || refusal?.kind === 'nonce_claimed') {
    return new SigningRefused(intent.id, refusal.reason)
  }
  return new Unavailable('mpc_sign_failed', `Could not sign ${intent.id}: ${refusal?.reason ?? 'no party answered'}.`)
}
