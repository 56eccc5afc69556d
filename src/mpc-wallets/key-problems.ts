/**
 * Whether mpc wallets may use the keys that their streams name. Invariant: a wallet uses an mpc key only if the key's own
 * stream, with a valid hash chain, assigned it to this wallet of this tenant before any other.
 */
import type { Checked } from '../event-log/load-checked.ts'
import type { EventLog } from '../event-log/log.ts'
import { sameHex } from '../keys/coverage.ts'
import type { WalletFacts } from '../wallets/wallet-facts.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import type { MpcKeyState } from './state.ts'

/** One query for the keys of all wallets; none for wallets with other keys. */
export async function mpcKeyProblems(
  { log }: { readonly log: Pick<EventLog, 'loadChecked'> },
  wallets: readonly WalletFacts[],
): Promise<ReadonlyMap<string, string>> {
  const named = wallets.flatMap((wallet) => (wallet.key?.kind === 'mpc' ? [{ wallet, keyId: wallet.key.keyId }] : []))
  if (named.length === 0) return new Map()
  const loaded = await log.loadChecked(mpcKeyAggregate, [...new Set(named.map(({ keyId }) => keyId))])
  const keys = new Map(loaded.map((key) => [key.id, key]))
  return new Map(
    named.flatMap(({ wallet, keyId }): [string, string][] => {
      const problem = problemOf(wallet, keyId, keys.get(keyId))
      return problem === null ? [] : [[wallet.walletId, problem]]
    }),
  )
}

function problemOf(
  { walletId, tenantId, address }: WalletFacts,
  keyId: string,
  key: Checked<MpcKeyState> | undefined,
): string | null {
  if (key === undefined || key.broken !== null) return key?.broken ?? `the log does not have the mpc key ${keyId}`
  if (key.state.status === 'unknown')
    return `Wallet ${walletId} names the mpc key ${keyId}, which the log does not have.`
  const { wallet, address: own } = key.state
  if (wallet?.walletId !== walletId || wallet.tenantId !== tenantId)
    return `Wallet ${walletId} of tenant ${tenantId} names the mpc key ${keyId}, which the log assigns to ${wallet === null ? 'no wallet' : `wallet ${wallet.walletId} of tenant ${wallet.tenantId}`}.`
  return sameHex(own, address ?? '')
    ? null
    : `Wallet ${walletId} names the address ${address}, but its mpc key ${keyId} has ${own}.`
}
