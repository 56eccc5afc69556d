/**
 * The immutable facts of a wallet that has an address: looked up by id on hot paths, and cached. Concurrent misses are
 * one query.
 */

import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { BursarError } from '../core/errors.ts'
import type { Environment, Network } from '../core/networks.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { WalletKey, WalletType } from './events.ts'
import type { KnownWallet } from './state.ts'

export type WalletFacts = {
  readonly walletId: string
  readonly tenantId: string
  readonly type: WalletType
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  /** EIP-55; `null` until a signer has created the key, except for a wallet that is opened from another. */
  readonly address: string | null
  readonly key: WalletKey | null
  /** The wallet that the key belongs to, if this one uses it on another chain. */
  readonly openedFrom: string | null
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
export type FoundFacts = ReadonlyMap<string, WalletFacts | Error>

/** From the read model, for responses to callers. Signers use `createRecordedWalletFacts`. */
export function createWalletFacts(pool: Pool): WalletFactsOf {
  return rememberFacts((ids) => readFacts(pool, ids))
}

/** Remembers what never changes any more, and looks up those of the same moment together. */
export function rememberFacts(read: (ids: readonly string[]) => Promise<FoundFacts>): WalletFactsOf {
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
        if (facts !== null && isComplete(facts)) remembered.set(id, facts)
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

/** Whether they never change any more. */
function isComplete({ type, address, key }: WalletFacts): boolean {
  return address !== null && (key !== null || type === 'watch')
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
  'wallet_id' | 'tenant_id' | 'type' | 'network' | 'environment' | 'chain_id' | 'address' | 'key_ref' | 'opened_from'
>

/** The facts in the state of a wallet. */
export function factsOf(
  walletId: string,
  tenantId: string,
  { type, network, environment, chainId, address, key, openedFrom }: KnownWallet,
): WalletFacts {
  return { walletId, tenantId, type, network, environment, chainId, address, key, openedFrom }
}

async function readFacts(pool: Pool, ids: readonly string[]): Promise<FoundFacts> {
  const { rows } = await pool.query<FactsRow>({
    name: 'wallet_facts',
    text: `SELECT wallet_id, tenant_id, type, network, environment, chain_id, address, key_ref, opened_from
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
    openedFrom: row.opened_from,
  }
}

declare module '../capability.ts' {
  interface SeedNeeds {
    readonly factsOf: WalletFactsOf
  }
}
