/**
 * Records which transaction one party has helped to sign with which nonce of which address. Two rules hold whatever a
 * coordinator requests: a nonce is used for one transaction of the log, and a transaction is signed with one nonce
 * until the log proves that nonce lost. Fillers of gaps are limited too, and what limits of policies are about is added up.
 *
 * One process owns the directory. A journal that is damaged, when it is opened or later, grants nothing more.
 */
import { join } from 'node:path'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { Unavailable } from '../../core/errors.ts'
import type { SpentLimit } from '../coverage.ts'
import { preparePrivateDirectory } from '../private-files.ts'
import { type ClaimBook, type ClaimEntry, type ClaimResult, createClaimBook } from './claim-book.ts'
import { type FillerCounts, openFillerCounts } from './filler-counts.ts'
import { damaged, type JournalFile, openJournalFile } from './journal-file.ts'
import { openSpentBook, type RevertedOf, type SpentBook } from './spent-book.ts'

const FILE_NAME = 'signing.journal'
/** Apart from the claims, whose file older programs read too. */
const FILLERS_FILE_NAME = 'fillers.journal'
const SPENT_FILE_NAME = 'limits.journal'
/** With fewer stale claims than this, rewriting the file is not worthwhile. */
const MIN_STALE_CLAIMS = 1_000
export type Claim = ClaimEntry & {
  /** Nonces that the log proves lost to this transaction: a foreign transaction consumed them. */
  readonly released?: readonly number[]
  /**
   * Transactions that the log does not have: this one may take their nonces. The journal keeps what they were signed
   * with.
   */
  readonly overtakes?: readonly string[]
  /** The transaction only fills a gap: a wallet gets few of them in an hour. */
  readonly isFiller?: boolean
  /** What it reserves of limits. */
  readonly limits?: readonly SpentLimit[]
}

export type SigningJournal = {
  /**
   * Claims nonces for signatures; call it before sending the message after which a signature may exist. Granted claims
   * are durable when it resolves, and are granted again. Concurrent calls share one write to disk.
   *
   * @param claims addresses may have any case
   * @returns a result for each claim, in order
   * @throws Unavailable `mpc_journal_full` or `mpc_journal_failed`: nothing was granted; `mpc_journal_damaged` and
   *   `mpc_directory_lost`: nothing is granted any more
   * @throws RangeError for a malformed claim: a defect of the caller
   */
  readonly claim: (claims: readonly Claim[]) => Promise<readonly ClaimResult[]>
  /** Forgets transactions that have ended according to the log. Their nonces are then free for others. */
  readonly forget: (transactionIds: readonly string[]) => Promise<void>
  /** The nonces with which a transaction was signed. */
  readonly noncesOf: (transactionId: string) => readonly number[]
  /** The transaction that was signed with a nonce of an address in any case; `null` for none. */
  readonly holderOf: (nonce: Omit<ClaimEntry, 'transactionId'>) => string | null
  /** The highest nonce of an address with which anything was signed; -1 when the journal has none. */
  readonly highestOf: (chainId: number, address: string) => number
  /** The transactions in the journal. */
  readonly transactions: () => readonly string[]
  /** Compares the files with what this process wrote. @throws as `claim` does */
  readonly check: () => Promise<void>
  /** Why nothing is granted any more; `null` while the journal is sound. What it says of nonces is then not complete. */
  readonly damage: () => Unavailable | null
  /** Resolves when earlier calls are finished. */
  readonly close: () => Promise<void>
}

const TOO_MANY_FILLERS: ClaimResult = { granted: false, reason: 'too_many_fillers' }
const OVER_LIMIT: ClaimResult = { granted: false, reason: 'over_limit' }

export type JournalLog = { readonly warn: (fields: object, message: string) => void }

/** Transaction, chain, address, nonce. */
const Entry = Type.Tuple([
  Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
  Type.Integer({ minimum: 1 }),
  Type.String({ pattern: '^0x[0-9a-f]{40}$' }),
  Type.Integer({ minimum: 0 }),
])
/** The changes of one batch: first transactions are forgotten, then claims are added. */
const Line = Type.Object(
  { forget: Type.Array(Type.String()), claim: Type.Array(Entry) },
  { additionalProperties: false },
)
type Line = Static<typeof Line>

type Request = {
  readonly forget: readonly string[]
  readonly claims: readonly Claim[]
  readonly resolve: (results: readonly ClaimResult[]) => void
  readonly reject: (error: unknown) => void
}

/** `claimsInFile` includes stale ones. */
type State = {
  readonly book: ClaimBook
  readonly file: JournalFile
  claimsInFile: number
  readonly fillers: FillerCounts
  readonly spent: SpentBook
}

/**
 * Opens the journal in the party's own directory, creating it if necessary. One with a changed line opens with its
 * `damage`, and refuses every claim: restore it from a backup, and open it again.
 */
export async function openSigningJournal(ports: {
  readonly directory: string
  /** Called before anything is granted. @throws Unavailable when this process no longer owns the directory */
  readonly requireOwner: () => Promise<void>
  readonly log: JournalLog
  /** What gives back what it reserved of limits; by default nothing does. */
  readonly revertedOf?: RevertedOf
  /** The clock of this machine, ms. */
  readonly now?: () => number
}): Promise<SigningJournal> {
  await preparePrivateDirectory(ports.directory)
  try {
    return journalOf(await readState(ports), ports)
  } catch (error) {
    if (!(error instanceof Unavailable) || error.code !== 'mpc_journal_damaged') throw error
    return damagedJournal(error)
  }
}

async function readState({ directory, log, now = Date.now }: Parameters<typeof openSigningJournal>[0]): Promise<State> {
  const path = join(directory, FILE_NAME)
  const { file, records, torn } = await openJournalFile(path)
  try {
    if (torn > 0) log.warn({ path, bytes: torn }, 'dropped the incomplete last entry of the signing journal')
    const book = createClaimBook()
    let claimsInFile = 0
    records.forEach((record, index) => {
      if (!Value.Check(Line, record)) throw damaged(path, index + 1)
      for (const id of record.forget) book.forget(id)
      for (const entry of record.claim) book.add(fromLine(entry))
      claimsInFile += record.claim.length
    })
    const fillers = await openFillerCounts(join(directory, FILLERS_FILE_NAME), now)
    const spent = await openSpentBook(join(directory, SPENT_FILE_NAME), now).catch(async (error: unknown) => {
      await fillers.close()
      throw error
    })
    return { book, file, claimsInFile, fillers, spent }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Nothing is granted, forgotten or written. */
function damagedJournal(damage: Unavailable): SigningJournal {
  return {
    claim: () => Promise.reject(damage),
    forget: () => Promise.reject(damage),
    check: () => Promise.reject(damage),
    damage: () => damage,
    noncesOf: () => [],
    holderOf: () => null,
    highestOf: () => -1,
    transactions: () => [],
    close: async () => undefined,
  }
}

function journalOf(
  state: State,
  { log, requireOwner, revertedOf = async () => [] }: Parameters<typeof openSigningJournal>[0],
): SigningJournal {
  const { file, fillers, spent } = state
  let waiting: Request[] = []
  let running: Promise<void> | null = null

  /** Requests that arrive during a write form the next batch. */
  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await runBatch(state, batch, requireOwner)
      await compact(state, log)
    }
    running = null
  }

  function request(forget: readonly string[], claims: readonly Claim[]): Promise<readonly ClaimResult[]> {
    return new Promise((resolve, reject) => {
      waiting.push({ forget, claims, resolve, reject })
      running ??= run()
    })
  }

  return {
    async claim(claims) {
      const all = claims.map(checked)
      const refused = new Map<Claim, ClaimResult>()
      for (const each of all) {
        if (each.isFiller && !(await fillers.take(each))) refused.set(each, TOO_MANY_FILLERS)
        if (each.limits !== undefined && !(await spent.take(each, revertedOf))) refused.set(each, OVER_LIMIT)
      }
      if (refused.size === 0) return request([], all)
      const results = [
        ...(await request(
          [],
          all.filter((each) => !refused.has(each)),
        )),
      ]
      return all.map((each) => refused.get(each) ?? (results.shift() as ClaimResult))
    },
    forget: async (transactionIds) => void (await request(transactionIds, [])),
    async check() {
      await request([], [])
      await fillers.check()
      await spent.check()
    },
    damage: () => file.damage() ?? fillers.damage() ?? spent.damage(),
    noncesOf: state.book.noncesOf,
    holderOf: (nonce) => state.book.holderOf({ ...nonce, address: nonce.address.toLowerCase() }),
    highestOf: state.book.highestOf,
    transactions: state.book.transactions,
    async close() {
      await running
      await file.close()
      await Promise.all([fillers.close(), spent.close()])
    },
  }
}

/** Invariant: between two batches, every claim in the book is on disk. */
async function runBatch(state: State, batch: readonly Request[], requireOwner: () => Promise<void>): Promise<void> {
  const { book, file } = state
  const forget = batch.flatMap((request) => request.forget).filter((id) => book.knows(id))
  // Not undone when the write fails: the log allows it, and the file only remembers longer.
  for (const id of forget) book.forget(id)
  const added: ClaimEntry[] = []
  const judge = ({ released = [], overtakes = [], isFiller: _, limits: __, ...entry }: Claim): ClaimResult => {
    const result = book.judge(entry, released, overtakes)
    if (result.granted && !book.has(entry)) {
      book.add(entry)
      added.push(entry)
    }
    return result
  }
  const results = batch.map(({ claims }) => claims.map(judge))
  try {
    await requireOwner()
    if (forget.length + added.length === 0) await file.check()
    else await file.append({ forget, claim: added.map(toLine) } satisfies Line)
  } catch (error) {
    for (const entry of added) book.remove(entry)
    for (const { reject } of batch) reject(error)
    return
  }
  state.claimsInFile += added.length
  batch.forEach(({ resolve }, index) => {
    resolve(results[index] ?? [])
  })
}

/** Rewrites the file once most of it is stale. A failure only costs space. */
async function compact(state: State, log: JournalLog): Promise<void> {
  const { book, file, claimsInFile } = state
  const live = book.size()
  if (claimsInFile - live < Math.max(MIN_STALE_CLAIMS, live)) return
  try {
    await file.rewrite({ forget: [], claim: book.entries().map(toLine) } satisfies Line)
    state.claimsInFile = live
  } catch (error) {
    log.warn({ err: error }, 'cannot compact the signing journal')
  }
}

function toLine({ transactionId, chainId, address, nonce }: ClaimEntry): Static<typeof Entry> {
  return [transactionId, chainId, address, nonce]
}

function fromLine([transactionId, chainId, address, nonce]: Static<typeof Entry>): ClaimEntry {
  return { transactionId, chainId, address, nonce }
}

function checked(claim: Claim): Claim {
  const lowered = { ...claim, address: claim.address.toLowerCase() }
  if (!Value.Check(Entry, toLine(lowered))) throw new RangeError('the claim does not fit into a journal')
  return lowered
}
