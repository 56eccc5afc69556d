/**
 * Counts the fillers of nonce gaps that one party has helped to sign for each wallet, across restarts. A filler moves
 * nothing, but costs a fee that a forged request chooses; so a party signs only a few in an hour.
 *
 * Invariant: a filler is counted on disk before it is granted.
 */
import { type Static, Type } from '@sinclair/typebox'
import { type Counted, openCountingJournal } from './counting-journal.ts'

/** As many gaps as a lane fills in one pass. */
export const MAX_FILLERS_AN_HOUR = 16
const HOUR_MS = 60 * 60_000

/** Time in ms, wallet as `chain:address`, transaction. */
const Entry = Type.Tuple([Type.Integer({ minimum: 0 }), Type.String(), Type.String()])
type Entry = Static<typeof Entry>
const Line = Type.Object({ fillers: Type.Array(Entry) }, { additionalProperties: false })

export type Filler = { readonly transactionId: string; readonly chainId: number; readonly address: string }

export type FillerCounts = Counted & {
  /**
   * Grants a filler, the same one again without counting it twice. False when the wallet has reached the limit.
   *
   * @throws Unavailable `mpc_journal_full`, `mpc_journal_failed` or `mpc_journal_damaged`
   */
  readonly take: (filler: Filler) => Promise<boolean>
}

/**
 * @param now the clock of this machine, ms: an attacker on the database must not choose it
 * @throws Unavailable `mpc_journal_damaged`
 */
export async function openFillerCounts(path: string, now: () => number): Promise<FillerCounts> {
  const { journal, records } = await openCountingJournal(path, Line)
  let recent = records.flatMap(({ fillers }): readonly Entry[] => fillers)

  async function grant({ transactionId, chainId, address }: Filler): Promise<boolean> {
    const time = now()
    // A time in the future is from before the clock was set back: it counts.
    recent = recent.filter(([at]) => at > time - HOUR_MS)
    const wallet = `${chainId}:${address.toLowerCase()}`
    const own = recent.filter(([, other]) => other === wallet)
    if (own.some(([, , id]) => id === transactionId)) return true
    if (own.length >= MAX_FILLERS_AN_HOUR) return false
    const entry: Entry = [time, wallet, transactionId]
    await journal.record({ fillers: [entry] }, recent.length, () => ({ fillers: [...recent, entry] }))
    recent = [...recent, entry]
    return true
  }

  const { damage, check, close } = journal
  return { damage, check, close, take: (filler) => journal.inTurn(() => grant(filler)) }
}
