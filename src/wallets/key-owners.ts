/**
 * Which wallet the key of a wallet belongs to: the wallet itself, or the one that it was opened from.
 *
 * Invariant: a wallet uses the key of another one only if both streams say so: its own names the other one, and the other one,
 * of the same tenant, type and environment, names it first for its chain. So on each chain one wallet has the key, whoever
 * may append the events of one of them.
 */
import type { Checked } from '../event-log/load-checked.ts'
import type { EventLog } from '../event-log/log.ts'
import { sameHex } from '../keys/coverage.ts'
import { walletAggregate } from './aggregate.ts'
import type { WalletKey } from './events.ts'
import type { WalletState } from './state.ts'
import { factsOf, type WalletFacts } from './wallet-facts.ts'

export type KeyOwners = {
  /** The facts of the wallet that the key belongs to, by the wallet that uses it; of those without a problem. */
  readonly owners: ReadonlyMap<string, WalletFacts>
  /** Why a wallet may not use the key of the one that it names, by wallet. */
  readonly problems: ReadonlyMap<string, string>
}

/** One query for the owners of all keys; none for wallets with keys of their own. @param wallets with a key */
export async function ownersOf(
  log: Pick<EventLog, 'loadChecked'>,
  wallets: readonly WalletFacts[],
): Promise<KeyOwners> {
  const ids = [...new Set(wallets.flatMap(({ openedFrom }) => openedFrom ?? []))]
  const loaded = ids.length === 0 ? [] : await log.loadChecked(walletAggregate, ids)
  const streams = new Map(loaded.map((stream) => [stream.id, stream]))
  const owners = new Map<string, WalletFacts>()
  const problems = new Map<string, string>()
  for (const wallet of wallets) {
    const owner = wallet.openedFrom === null ? wallet : ownerOf(wallet, streams.get(wallet.openedFrom))
    if (typeof owner === 'string') problems.set(wallet.walletId, owner)
    else owners.set(wallet.walletId, owner)
  }
  return { owners, problems }
}

/** @returns the owner, or why the wallet may not use its key */
function ownerOf(wallet: WalletFacts, stream: Checked<WalletState> | undefined): WalletFacts | string {
  const { walletId, openedFrom, chainId, network } = wallet
  const names = `Wallet ${walletId} names the key of wallet ${openedFrom}`
  if (stream === undefined || stream.broken !== null) return stream?.broken ?? `${names}, which the log does not have.`
  const { state, tenantId } = stream
  if (state.status === 'unknown' || tenantId === null) return `${names}, which the log does not have.`
  const owner = factsOf(stream.id, tenantId, state)
  if (owner.openedFrom !== null || owner.key === null) return `${names}, which has no key of its own.`
  const isAlike = tenantId === wallet.tenantId && owner.type === wallet.type && owner.environment === wallet.environment
  if (!isAlike) return `${names}, which is of another tenant, type or environment.`
  // The first event of a chain is the only one in the state: on its own chain no other wallet can have the key.
  const named = state.networks.find((opened) => opened.chainId === chainId)
  if (named?.walletId !== walletId || named.network !== network || owner.chainId === chainId)
    return `${names}, which has ${named === undefined ? 'no wallet' : `the wallet ${named.walletId}`} on the chain ${chainId}.`
  return isSameKey(owner.key, wallet.key) && sameHex(owner.address ?? '', wallet.address ?? '')
    ? owner
    : `${names}, but has another key or address.`
}

function isSameKey(a: WalletKey, b: WalletKey | null): boolean {
  if (a.kind === 'hd') return b?.kind === 'hd' && a.tenantId === b.tenantId && a.index === b.index
  return b?.kind === 'mpc' && a.keyId === b.keyId
}
