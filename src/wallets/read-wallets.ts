/** Reads wallets for their owner. Access is restricted in the query, not by filtering its result. */
import type { Context } from '../context.ts'
import { NotFound } from '../core/errors.ts'
import type { Network } from '../core/networks.ts'
import type { Owner } from '../core/tenants.ts'
import type { PrismaClient } from '../generated/prisma/client.ts'
import type { WalletType } from './events.ts'
import type { WalletStatus } from './state.ts'
import { toView, type WalletRow, type WalletView } from './view.ts'

/** Omitted fields match everything. Texts must match exactly. */
export type WalletFilter = {
  readonly type?: WalletType | undefined
  readonly network?: Network | undefined
  readonly label?: string | undefined
  /** EIP-55. */
  readonly address?: string | undefined
  readonly externalId?: string | undefined
  /** Default: every wallet that is not archived. */
  readonly status?: WalletStatus | undefined
  /** Wallets older than the one with this id. */
  readonly before?: string | undefined
  readonly limit: number
}

/** @throws NotFound `wallet_not_found` */
export async function readWallet(
  { pool }: Pick<Context, 'pool'>,
  { tenantId, environment }: Owner,
  walletId: string,
): Promise<WalletView> {
  const { rows } = await pool.query<WalletRow>({
    name: 'read_wallet',
    text: 'SELECT * FROM wallets WHERE wallet_id = $1 AND tenant_id = $2 AND environment = $3',
    values: [walletId, tenantId, environment],
  })
  const [row] = rows
  if (row === undefined) throw new NotFound('wallet')
  return toView(row)
}

/**
 * Newest first: ids sort by creation time.
 *
 * @param ctx `prisma`, only for lists: its query compiler is loaded with the first one
 */
export async function listWallets(
  { prisma }: { readonly prisma: Pick<PrismaClient, 'wallets'> },
  { tenantId, environment }: Owner,
  filter: WalletFilter,
): Promise<WalletView[]> {
  const { type, network, label, address, externalId, status, before, limit } = filter
  const rows = await prisma.wallets.findMany({
    where: {
      tenant_id: tenantId,
      environment,
      status: status ?? { not: 'archived' },
      ...(type === undefined ? {} : { type }),
      ...(network === undefined ? {} : { network }),
      ...(label === undefined ? {} : { label }),
      ...(address === undefined ? {} : { address }),
      ...(externalId === undefined ? {} : { external_id: externalId }),
      ...(before === undefined ? {} : { wallet_id: { lt: before } }),
    },
    orderBy: { wallet_id: 'desc' },
    take: limit,
  })
  return rows.map((row) => toView(row as WalletRow))
}
