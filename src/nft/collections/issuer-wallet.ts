/**
 * The wallet that owns a tenant's collections unless a request names another one: an ordinary hd wallet, created on
 * first use for each network and environment, and identified by its external_id.
 */
import type { Pool } from 'pg'
import { Conflict, Unavailable } from '../../core/errors.ts'
import type { Metadata } from '../../core/messages.ts'
import type { Network } from '../../core/networks.ts'
import type { Owner } from '../../core/tenants.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { requestWallet } from '../../wallets/request-wallet.ts'
import { WALLETS } from '../../wallets/sql.ts'
import { DEFAULT_ADDRESS_WAIT_MS } from '../../wallets/wait-for-wallet.ts'
import type { Issuer, NftContext } from '../nft-context.ts'

/**
 * The id of the issuer wallet, which has an address. Requests of an owner for the same wallet are kept in turn.
 *
 * @param metadata of the request that needs it; its idempotency key belongs to another resource and is left out
 * @throws ValidationFailed `network_not_configured`; Unavailable `signer_unavailable`; Conflict `external_id_taken`
 */
export function issuerWallet(ctx: NftContext, owner: Owner, network: Network, metadata: Metadata): Promise<string> {
  return ctx.inTurn(`${owner.tenantId} ${externalIdOf(owner, network)}`, async () => {
    const found = await find(ctx.pool, owner, network)
    const issuer = found?.address
      ? { ...found, address: found.address, network }
      : await make(ctx, owner, network, metadata)
    await ctx.fundWallet?.(issuer)
    return issuer.walletId
  })
}

async function make(ctx: NftContext, owner: Owner, network: Network, metadata: Metadata): Promise<Issuer> {
  const { environment } = owner
  const chainId = ctx.chains.get({ network, environment }).settings.chainId
  const externalId = externalIdOf(owner, network)
  const wanted = { type: 'hd', network, environment, chainId, label: 'NFT issuer', externalId, mpc: null } as const
  const { idempotency: _, ...own } = metadata
  // Issuer wallets are hd wallets, whatever the terms of mpc wallets are.
  const id = await requestWallet({ ...ctx, config: { mpc: null } }, wanted, { metadata: own }).then(
    (opened) => opened.id,
    async (error) => {
      if (!(error instanceof Conflict)) throw error
      // Another process created it at the same time, or another wallet of the tenant has its external_id.
      const found = await find(ctx.pool, owner, network)
      if (found === null) throw nameTaken(externalId)
      return found.walletId
    },
  )
  const made = await ctx.waitForWallet(id, DEFAULT_ADDRESS_WAIT_MS[wanted.type])
  if (made === null) {
    throw new Unavailable(
      'signer_unavailable',
      `The issuer wallet ${id} has no address yet, because no signer has created its key: try again later.`,
    )
  }
  return { walletId: id, address: made.address, network }
}

function nameTaken(externalId: string): Conflict {
  return new Conflict(
    'external_id_taken',
    `One of your wallets on another network already has the external_id ${externalId} of the issuer wallet: send a wallet_id.`,
  )
}

/** An external_id identifies one wallet of a tenant across networks and environments. */
function externalIdOf({ environment }: Owner, network: Network): string {
  return environment === 'mainnet' ? `bursar-issuer-${network}` : `bursar-issuer-${network}-${environment}`
}

async function find(
  pool: Pool,
  owner: Owner,
  network: Network,
): Promise<{ readonly walletId: string; readonly address: string | null } | null> {
  const { rows } = await pool.query<Pick<Row<'wallets'>, 'wallet_id' | 'address'>>({
    name: 'issuer_wallet',
    text: `SELECT wallet_id, address FROM ${WALLETS} AS wallets
            WHERE tenant_id = $1 AND external_id = $2 AND network = $3 AND environment = $4`,
    values: [owner.tenantId, externalIdOf(owner, network), network, owner.environment],
  })
  const [row] = rows
  return row === undefined ? null : { walletId: row.wallet_id, address: row.address }
}
