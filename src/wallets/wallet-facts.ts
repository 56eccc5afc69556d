/**
 * The immutable facts of a wallet that has an address: looked up by id on hot paths, and cached. Concurrent misses are
 * one query.
 */

import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { BursarError } from '../core/errors.ts'
import type { Environment, Network } from '../core/networks.ts'
import { BrokenChain } from '../event-log/broken-chain.ts'
import type { EventLog } from '../event-log/log.ts'
import type { Row } from '../event-log/table-rows.ts'
import { walletAggregate } from './aggregate.ts'
import type { WalletKey, WalletType } from './events.ts'

export type WalletFacts = {
  readonly walletId: string
  readonly tenantId: string
  readonly type: WalletType
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  /** EIP-55; `null` until a signer has created the key. */
  readonly address: string | null
  readonly key: WalletKey | null
}

/** The facts of a wallet of any tenant; `null` when it does not exist. */
export type WalletFactsOf = (walletId: string) => Promise<WalletFacts | null>

/** A wallet that cannot sign, or whose record is inconsistent: work that needs it keeps waiting. */
export class WalletUnfit extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'wallet_unfit'
  override readonly retryable = true
}

/**
 * Why these wallets may not use the keys that their own streams name, by wallet; those that may are missing. The stream
 * of a wallet is not enough: who may append `WalletCreated` could name the key of another wallet there.
 */
export type KeyProblemsOf = (wallets: readonly WalletFacts[]) => Promise<ReadonlyMap<string, string>>

/** About half a kilobyte each. */
const REMEMBERED = 20_000

type Waiting = { readonly resolve: (facts: WalletFacts | null) => void; readonly reject: (error: unknown) => void }

/** A wallet that was not found is missing; one with an inconsistent record is an error. */
type Found = ReadonlyMap<string, WalletFacts | Error>

/** From the read model, for responses to callers. Signers use `createRecordedWalletFacts`. */
export function createWalletFacts(pool: Pool): WalletFactsOf {
  return rememberFacts((ids) => readFacts(pool, ids))
}

/**
 * From the log, verifying each stream's hash chain: no row of the read model can make a signer use another key.
 *
 * @param keyProblems what assigns keys to wallets, by the kind of the key: a key of another kind is assigned to nobody
 * @throws BrokenChain (from the function) for a wallet whose events were edited; WalletUnfit for one whose key was not
 *   assigned to it
 */
export function createRecordedWalletFacts(
  log: Pick<EventLog, 'loadChecked'>,
  keyProblems: Readonly<Partial<Record<WalletKey['kind'], KeyProblemsOf>>>,
): WalletFactsOf {
  return rememberFacts(async (ids) => {
    const found = await loadFacts(log, ids)
    const keyed = [...found.values()].flatMap((facts) => (facts instanceof Error || facts.key === null ? [] : [facts]))
    // Read after the wallets: what assigns a key is appended together with its wallet.
    const problems = await Promise.all(Object.values(keyProblems).map((problemsOf) => problemsOf(keyed)))
    for (const { walletId, key } of keyed)
      if (key !== null && !Object.hasOwn(keyProblems, key.kind))
        found.set(walletId, new WalletUnfit(`Nothing tells whether wallet ${walletId} may use its ${key.kind} key.`))
    for (const [id, problem] of problems.flatMap((each) => [...each])) found.set(id, new WalletUnfit(problem))
    return found
  })
}

function rememberFacts(read: (ids: readonly string[]) => Promise<Found>): WalletFactsOf {
  const remembered = new LRUCache<string, WalletFacts>({ max: REMEMBERED })
  let waiting = new Map<string, Waiting[]>()

  async function lookUp(wanted: ReadonlyMap<string, readonly Waiting[]>): Promise<void> {
    try {
      const found = await read([...wanted.keys()])
      for (const [id, waiters] of wanted) {
        const facts = found.get(id) ?? null
        if (facts instanceof Error) {
          for (const { reject } of waiters) reject(facts)
          continue
        }
        if (facts !== null && facts.address !== null) remembered.set(id, facts)
        for (const { resolve } of waiters) resolve(facts)
      }
    } catch (error) {
      for (const { reject } of [...wanted.values()].flat()) reject(error)
    }
  }

  return async (walletId) =>
    remembered.get(walletId) ??
    new Promise((resolve, reject) => {
      if (waiting.size === 0) {
        // After this turn of the event loop, so that requests that arrived together share one query.
        setImmediate(() => {
          const wanted = waiting
          waiting = new Map()
          void lookUp(wanted)
        })
      }
      waiting.set(walletId, [...(waiting.get(walletId) ?? []), { resolve, reject }])
    })
}

type FactsRow = Pick<
  Row<
    'wallets',
    {
      readonly type: WalletType
      readonly network: Network
      readonly environment: Environment
      readonly key_ref: WalletKey | null
    }
  >,
  'wallet_id' | 'tenant_id' | 'type' | 'network' | 'environment' | 'chain_id' | 'address' | 'key_ref'
>

async function loadFacts(
  log: Pick<EventLog, 'loadChecked'>,
  ids: readonly string[],
): Promise<Map<string, WalletFacts | Error>> {
  const found = new Map<string, WalletFacts | Error>()
  for (const { id, state, broken, tenantId } of await log.loadChecked(walletAggregate, ids)) {
    if (broken !== null) found.set(id, new BrokenChain(broken))
    if (broken !== null || state.status === 'unknown' || tenantId === null) continue
    const { type, network, environment, chainId, address, key } = state
    found.set(id, { walletId: id, tenantId, type, network, environment, chainId, address, key })
  }
  return found
}

async function readFacts(pool: Pool, ids: readonly string[]): Promise<Found> {
  const { rows } = await pool.query<FactsRow>({
    name: 'wallet_facts',
    text: `SELECT wallet_id, tenant_id, type, network, environment, chain_id, address, key_ref
             FROM wallets WHERE wallet_id = ANY($1)`,
    values: [ids],
  })
  return new Map(rows.map((row) => [row.wallet_id, toFacts(row)]))
}

function toFacts(row: FactsRow): WalletFacts {
  return {
    walletId: row.wallet_id,
    tenantId: row.tenant_id,
    type: row.type,
    network: row.network,
    environment: row.environment,
    chainId: row.chain_id,
    address: row.address,
    key: row.key_ref,
  }
}

declare module '../capability.ts' {
  interface SeedNeeds {
    readonly factsOf: WalletFactsOf
  }
}
