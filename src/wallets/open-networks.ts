/**
 * Opens the address of a wallet on other networks: a wallet for each, with the same key. The key, and with it the address, are
 * those of the wallet that got it first; nonces, balances and holds are of each chain. Where the key has a wallet already,
 * that one stays.
 */
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { Conflict, NotFound } from '../core/errors.ts'
import { forResource, type Metadata } from '../core/messages.ts'
import type { Owner } from '../core/tenants.ts'
import type { Accept, Accepted } from '../event-log/accept.ts'
import { decideNew, type Loaded, mustDecideOn } from '../event-log/aggregate.ts'
import { UniqueRuleBroken, WalletGuardRefused } from '../event-log/append.ts'
import type { EventLog } from '../event-log/log.ts'
import { isAddressTaken } from './address-taken.ts'
import { walletAggregate } from './aggregate.ts'
import type { Place } from './events.ts'
import { withAddress } from './find-wallet.ts'
import { isOpenOn, type KnownWallet, type OpenedNetwork, type WalletState } from './state.ts'
import { toView, type WalletRow, type WalletView } from './view.ts'
import type { WalletFacts } from './wallet-facts.ts'

export type OpenNetworksContext = Pick<Context, 'newId' | 'pool'> & {
  readonly log: Pick<EventLog, 'load' | 'now'>
  readonly accept: Accept
}

export type NetworksRequest = {
  /** Of the environment of the wallet, each once. */
  readonly places: readonly Place[]
  /** `null` for that of the wallet. */
  readonly label: string | null
}

/**
 * Networks where the key has a wallet are left alone: a request for nothing else changes nothing.
 *
 * @param asked the wallet of the request: the owner of the key, or one that was opened from it
 * @throws ValidationFailed `watch_only`; Conflict `wallet_not_ready`, `wallet_archived`, `address_in_use` when the tenant watches the
 *   address there; IdempotencyKeyReused
 */
export function openNetworks(
  { log, accept, newId }: OpenNetworksContext,
  asked: WalletFacts,
  { places, label }: NetworksRequest,
  { metadata }: { readonly metadata: Metadata },
): Promise<Accepted> {
  const { walletId, environment } = withAddress(asked)
  const ownerId = ownerOf(asked)
  const attempt: Parameters<Accept>[1] = async (append, unchanged) => {
    const loaded = await log.load(walletAggregate, ownerId)
    const owner = requireKnown(loaded)
    const missing = places.filter(({ chainId }) => !isOpenOn(owner, chainId))
    if (missing.length === 0) return unchanged({ id: walletId, environment }, null)
    const id = newId('request')
    const opened = missing.map((place) => ({ ...place, walletId: newId('wallet') }))
    const now = log.now()
    const recording = { metadata: forResource(metadata, id), now }
    const decisions = [
      mustDecideOn(walletAggregate, loaded, { type: 'OpenNetworks', networks: opened, now }, recording),
      ...opened.map((one) =>
        decideNew(walletAggregate, one.walletId, requestOf(loaded.id, owner, one, label, now), recording),
      ),
    ]
    const guards = { wallet: { walletId, require: 'active' } } as const
    return append({ id, commit: { decisions, guards }, explain, made: null })
  }
  return accept(metadata, attempt, { replayFirst: true })
}

/** It has the tags of the owner: no rule of a policy that names wallets by them loses sight of the key. */
function requestOf(
  ownerId: string,
  { type, mpc, tags, label: ownLabel, address }: KnownWallet,
  { walletId: _, ...place }: OpenedNetwork,
  label: string | null,
  now: string,
) {
  if (type === 'watch' || address === null) throw new Error(`${ownerId} has no key`)
  const request = { ...place, type, label: label ?? ownLabel, externalId: null, mpc, requestedAt: now }
  return { type: 'RequestWallet', request, tags, openedFrom: { walletId: ownerId, address } } as const
}

/** The wallet that the key of a wallet belongs to. */
function ownerOf({ walletId, openedFrom }: WalletFacts): string {
  return openedFrom ?? walletId
}

function requireKnown({ state }: Loaded<WalletState>): KnownWallet {
  if (state.status === 'unknown') throw new NotFound('wallet')
  return state
}

function explain(refusal: unknown): unknown {
  if (refusal instanceof WalletGuardRefused)
    return new Conflict('wallet_archived', 'The wallet is archived: restore it before you open its address elsewhere.')
  if (!(refusal instanceof UniqueRuleBroken) || !isAddressTaken(refusal)) return refusal
  return new Conflict(
    'address_in_use',
    'You watch this address on one of the networks: delete that watch wallet first. It is listed with the address.',
  )
}

/** The wallets that have the key of a wallet on these networks, in the order of the networks. */
export async function readNetworks(
  { pool }: { readonly pool: Pool },
  { tenantId, environment }: Owner,
  asked: WalletFacts,
  networks: readonly string[],
): Promise<readonly WalletView[]> {
  const { rows } = await pool.query<WalletRow>({
    name: 'wallets_of_key',
    text: `SELECT * FROM wallets WHERE (wallet_id = $1 OR opened_from = $1) AND tenant_id = $2 AND environment = $3
              AND network = ANY ($4) ORDER BY array_position($4, network)`,
    values: [ownerOf(asked), tenantId, environment, networks],
  })
  return rows.map((row) => toView(row))
}
