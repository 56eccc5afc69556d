/**
 * A party's part in signing: it looks up the request in the log, computes the digests itself, and sends no last message
 * before its journal has recorded what it helped to sign.
 */
import { type Coverage, notCovered, type SpentLimit } from '../coverage.ts'
import { eip191Digest } from '../eip191.ts'
import { eip712Digest } from '../eip712.ts'
import { eip1559Digest } from '../eip1559.ts'
import type { JointKey, JointKeysOf } from './ceremonies.ts'
import type { ClaimResult } from './claim-book.ts'
import type { EngineThread } from './engine-thread.ts'
import { MAX_FILLERS_AN_HOUR } from './filler-counts.ts'
import type { LoadedShares } from './loaded-shares.ts'
import type { PartyBans } from './party-bans.ts'
import type { Begin, ItemOutcome, Refusal, SigningItem, SigningSubject } from './protocol.ts'
import { refusalOf } from './refusal-error.ts'
import type { RoundTable } from './round-table.ts'
import { runSession } from './run-session.ts'
import { bannedRefusal, type SigningGuard } from './signing-guard.ts'
import type { Claim, SigningJournal } from './signing-journal.ts'

export type SignBegin = Extract<Begin, { ceremony: 'sign' }>

/** An item that a coordinator requests, with the address of its key. */
export type AskedSignature = SigningItem & {
  readonly address: string
  /** Nonces with which this party has already helped to sign the transaction. */
  readonly signedNonces: readonly number[]
}

/** Whether the log contains exactly these requests, in order. @throws Unavailable when the log cannot be read */
export type CoverageOf = (asked: readonly AskedSignature[]) => Promise<readonly Coverage[]>

export type PartySignPorts = {
  readonly me: number
  readonly engine: EngineThread
  readonly shares: LoadedShares
  readonly journal: SigningJournal
  readonly bans: PartyBans
  /** Shared by all sessions of the party. */
  readonly guard: SigningGuard
  readonly jointKeysOf: JointKeysOf
  readonly coverageOf: CoverageOf
  /** Those of these transactions that ended without a signature, according to the log: their nonces are free. */
  readonly endedOf: (transactionIds: readonly string[]) => Promise<readonly string[]>
  /**
   * Those of these transactions that the log does not have: it was restored to an earlier state since they were signed.
   */
  readonly unknownOf: (transactionIds: readonly string[]) => Promise<readonly string[]>
  /** Called for items that the log does not cover: an unauthorized request. */
  readonly onNotCovered: (item: SigningItem, rule: string) => void
}

/** With the messages of this round the finisher assembles the signature. */
const LAST_ROUND = 3

type Accepted = {
  readonly item: SigningItem
  readonly key: JointKey
  readonly digest: Uint8Array
  readonly share: number
  /** The nonces checked against the log: nonces that another session claimed since then are not proven lost. */
  readonly signedNonces: readonly number[]
  readonly isFiller: boolean
  readonly limits: readonly SpentLimit[] | undefined
}

/** Takes part in one session; resolves with the outcome of each item. */
export async function takePartInSigning(
  ports: PartySignPorts,
  { session, begin, table }: { readonly session: string; readonly begin: SignBegin; readonly table: RoundTable },
): Promise<readonly ItemOutcome[]> {
  const others = begin.signers.filter((party) => party !== ports.me)
  const judged = await judge(ports, begin, others)
  const admission = await ports.guard.enter(
    judged.map((each) => ('refusal' in each ? null : { key: each.key, intent: each.item.intent })),
    others,
  )
  try {
    const admitted = judged.map((each, place): Judged => {
      const refusal = admission.refusals[place]
      return refusal ? { refusal } : each
    })
    return await runSession({
      engine: ports.engine,
      begin: admitted.map((each, place) => {
        if ('refusal' in each) return each
        const sessionId = Buffer.from(`${session}${place.toString(16).padStart(2, '0')}`, 'hex')
        const { share, digest } = each
        return { call: { name: 'sign', with: [{ share, others, finisher: begin.finisher, sessionId, digest }] } }
      }),
      others,
      table,
      watch: admission.watch,
      beforeSending: async (round, places) => {
        if (round !== LAST_ROUND) return places.map(() => null)
        return claim(ports, accepted(places.map((place) => admitted[place])))
      },
    })
  } finally {
    admission.leave()
  }
}

type Judged = Accepted | { readonly refusal: Refusal }

function accepted(judged: readonly (Judged | undefined)[]): readonly Accepted[] {
  return judged.flatMap((each) => (each === undefined || 'refusal' in each ? [] : [each]))
}

async function judge(ports: PartySignPorts, begin: SignBegin, others: readonly number[]): Promise<readonly Judged[]> {
  const { items, signers, finisher } = begin
  const { me } = ports
  if (!signers.includes(me) || !signers.includes(finisher))
    return items.map(() => refuse('invalid', 'not one of the signers'))
  // Also before messages, which are not written down: a process that lost its directory signs nothing.
  const unusable = await ports.journal.check().then(() => null, refusalOf)
  if (unusable !== null) return items.map(() => ({ refusal: unusable }))
  const keys = await ports.jointKeysOf(items.map(({ keyId }) => keyId))
  const asked = items.map((item) => {
    const signedNonces = item.intent.kind === 'transaction' ? ports.journal.noncesOf(item.intent.id) : []
    return { ...item, address: keys.get(item.keyId)?.address ?? '', signedNonces }
  })
  const [coverage, holders] = await Promise.all([ports.coverageOf(asked), holdersOf(ports, asked)])
  return Promise.all(
    items.map(async (item, index): Promise<Judged> => {
      const key = keys.get(item.keyId)
      if (key === undefined) return refuse('key_unknown', `the log has no key ${item.keyId}`)
      const banned = ports.bans.of(key).find((party) => others.includes(party))
      if (banned !== undefined) {
        await ports.bans.unkept(key)
        return { refusal: bannedRefusal(banned) }
      }
      const unfit = unfitSigners(key, signers)
      if (unfit !== null) return { refusal: unfit }
      const verdict = coverage[index] ?? notCovered('it was not checked')
      if (!verdict.covered) {
        const { rule, signedNonce: nonce } = verdict
        if (nonce !== undefined) return { refusal: { kind: 'nonce_claimed', party: null, reason: rule, nonce } }
        ports.onNotCovered(item, rule)
        return refuse('not_covered', rule)
      }
      const holder = holders[index] ?? null
      if (holder !== null) return { refusal: usedFor(holder) }
      try {
        const signedNonces = asked[index]?.signedNonces ?? []
        const [digest, share] = [digestOf(item.subject), await ports.shares.numberOf(key)]
        const { isFiller = false, limits } = verdict
        return { item, key, digest, share, signedNonces, isFiller, limits }
      } catch (error) {
        return { refusal: refusalOf(error) }
      }
    }),
  )
}

/**
 * Who has the nonces of the items. A nonce that is another's is refused before the other signers claim it: they would be bound
 * to it, and help to sign the transaction with no other one.
 */
async function holdersOf(
  { journal, endedOf, unknownOf }: PartySignPorts,
  asked: readonly AskedSignature[],
): Promise<readonly (string | null)[]> {
  const holders = asked.map(({ intent, subject, address }) => {
    if (subject.kind !== 'transaction') return null
    const { chainId, nonce } = subject.transaction
    const holder = journal.holderOf({ chainId, address, nonce })
    return holder === intent.id ? null : holder
  })
  const named = [...new Set(holders.filter((holder) => holder !== null))]
  if (named.length === 0) return holders
  const free = (await Promise.all([endedOf(named), unknownOf(named)])).flat()
  return holders.map((holder) => (holder === null || free.includes(holder) ? null : holder))
}

function usedFor(holder: string): Refusal {
  const reason = `this party already signed the nonce for ${holder}`
  return { kind: 'nonce_claimed', party: null, reason, holder }
}

function unfitSigners(key: JointKey, signers: readonly number[]): Refusal | null {
  if (signers.length !== key.threshold || signers.some((party) => !key.parties.includes(party))) {
    return refuse('invalid', `the key requires ${key.threshold} of the parties ${key.parties.join(', ')}`).refusal
  }
  const apart = key.apart.find((pair) => pair.every((party) => signers.includes(party)))
  if (apart === undefined) return null
  return refuse('banned', `parties ${apart.join(' and ')} do not sign together: refresh the shares of this key`).refusal
}

function refuse(kind: Refusal['kind'], reason: string): { readonly refusal: Refusal } {
  return { refusal: { kind, party: null, reason } }
}

function digestOf(subject: SigningSubject): Uint8Array {
  if (subject.kind === 'transaction') return eip1559Digest(subject.transaction)
  return subject.kind === 'typed_data' ? eip712Digest(subject.typedData) : eip191Digest(subject.message)
}

const TOO_MANY_FILLERS = `this party signs at most ${MAX_FILLERS_AN_HOUR} fillers of gaps for a wallet in an hour`
const OVER_LIMIT = 'this party has helped to spend what a limit of the policy allows in its window'

/** Only transactions need claims, since they can be mined twice; signing a message twice has no further effect. */
async function claim(
  ports: Pick<PartySignPorts, 'journal' | 'endedOf' | 'unknownOf' | 'onNotCovered'>,
  items: readonly Accepted[],
): Promise<readonly (Refusal | null)[]> {
  const claims = items.map(({ item: { intent, subject }, key, signedNonces, isFiller, limits }): Claim | null => {
    if (subject.kind !== 'transaction') return null
    const { chainId, nonce } = subject.transaction
    // Whether the log proves all of these except this one lost was checked before.
    const released = signedNonces.filter((other) => other !== nonce)
    const claimed = { transactionId: intent.id, chainId, address: key.address, nonce, released, isFiller }
    return limits === undefined ? claimed : { ...claimed, limits }
  })
  const answers = [
    ...(await claimAnew(
      ports,
      claims.filter((each) => each !== null),
    )),
  ]
  return claims.map((each, place) => {
    const answer = each === null ? undefined : answers.shift()
    if (answer === undefined || answer.granted) return null
    if (answer.reason === 'too_many_fillers' || answer.reason === 'over_limit') {
      const rule = answer.reason === 'over_limit' ? OVER_LIMIT : TOO_MANY_FILLERS
      const item = items[place]?.item
      if (item !== undefined) ports.onNotCovered(item, rule)
      return { kind: 'not_covered', party: null, reason: rule }
    }
    if (answer.reason === 'nonce_used') return usedFor(answer.transactionId)
    const { nonce } = answer
    return {
      kind: 'nonce_claimed',
      party: null,
      reason: `this party already signed the transaction with nonce ${nonce}`,
      nonce,
    }
  })
}

/**
 * The nonce of a transaction that failed unsigned goes to the next one. So does that of a transaction that the log no
 * longer has: it stays bound to the nonce, with which only one transaction can be mined.
 */
async function claimAnew(
  { journal, endedOf, unknownOf }: Pick<PartySignPorts, 'journal' | 'endedOf' | 'unknownOf'>,
  claims: readonly Claim[],
): Promise<readonly ClaimResult[]> {
  const answers = await journal.claim(claims)
  const holders = answers.flatMap((answer) =>
    !answer.granted && answer.reason === 'nonce_used' ? [answer.transactionId] : [],
  )
  if (holders.length === 0) return answers
  const [ended, overtakes] = await Promise.all([endedOf(holders), unknownOf(holders)])
  if (ended.length === 0 && overtakes.length === 0) return answers
  await journal.forget(ended)
  return journal.claim(claims.map((each) => ({ ...each, overtakes })))
}
