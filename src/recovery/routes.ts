/** HTTP routes that export the key of a wallet. */
import type { Context } from '../context.ts'
import type { Row } from '../event-log/table-rows.ts'
import { waitUntilRow } from '../event-log/wait-until.ts'
import { success, successOf } from '../http/envelope.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import type { FindWallet } from '../wallets/find-wallet.ts'
import { readExport } from './read-exports.ts'
import { type ExportContext, requestExport } from './request-export.ts'
import { exportBody, exportDetailParams, exportParams, exportSchema } from './schemas.ts'
import { REQUESTED } from './sql.ts'

/** Default wait, ms: a signer that is busy with transfers is done by then. */
const EXPORT_WAIT_MS = 10_000

const tags = ['Recovery']

const exportKey = {
  tags,
  operationId: 'exportWalletKey',
  summary: 'Export the key of a wallet',
  description:
    'Encrypts the private key of an hd wallet to your age recipient. The signer encrypts it, so neither this API nor the log ever has ' +
    'the plain key. Whoever can decrypt the file can permanently spend without this service, and this cannot be undone. The wallet ' +
    'continues to work. The key of an mpc wallet does not exist in one place and cannot be exported. An API key has this scope only ' +
    'if it was issued with this scope by name: `*` does not include it.',
  params: exportParams,
  body: exportBody,
  response: {
    201: successOf(exportSchema, 'The encrypted key.'),
    202: successOf(exportSchema, 'The export is accepted. Poll it for the result.'),
  },
}

const detail = {
  tags,
  operationId: 'getWalletExport',
  summary: 'Get an export',
  description: 'Returns an export and its file. The file is deleted an hour after it was created.',
  params: exportDetailParams,
  response: { 200: successOf(exportSchema, 'The export.') },
}

const gone = { 410: 'The file was deleted an hour after it was created: request a new export.' }

export function recoveryRoutes(
  ctx: ExportContext & Pick<Context, 'pool' | 'wakeUps' | 'clock'> & { readonly findWallet: FindWallet },
): Routes {
  const { findWallet } = ctx
  /** Resolves once a signer has exported or refused it, or with `null` after the timeout. */
  const untilEnded = waitUntilRow<Pick<Row<'wallet_exports'>, 'export_id'>>(ctx, {
    name: 'ended_exports',
    text: `SELECT export_id FROM wallet_exports WHERE export_id = ANY($1) AND NOT ${REQUESTED}`,
    id: 'export_id',
  })
  return (app) => {
    app.post(
      '/v1/wallets/:wallet_id/export',
      {
        schema: exportKey,
        config: {
          scope: 'recovery:export',
          idempotent: true,
          quotas: ['ceremonies'],
          waits: 'up to 10 seconds for the file',
          refusals: {
            ...gone,
            403: 'The scope is missing, or EXPORT_RECIPIENTS does not name the recipient: `export_not_configured`, `recipient_not_allowed`.',
            409: 'The wallet is archived, or has no address yet.',
          },
        },
      },
      async (request, reply) => {
        const owner = request.caller
        const wallet = await findWallet(owner, request.params.wallet_id)
        return replyAccepted(request, reply, {
          accept: (metadata) => requestExport(ctx, wallet, request.body.recipient, { metadata }),
          async answer({ id }, waitMs, over) {
            const limitMs = waitMs ?? EXPORT_WAIT_MS
            if (limitMs > 0) await untilEnded(id, limitMs, over)
            const view = await readExport(ctx, owner, wallet.walletId, id)
            return { code: view.status === 'exported' ? 201 : 202, view }
          },
        })
      },
    )

    app.get(
      '/v1/wallets/:wallet_id/exports/:export_id',
      { schema: detail, config: { scope: 'recovery:export', refusals: gone } },
      async (request) => {
        const { wallet_id, export_id } = request.params
        const { walletId } = await findWallet(request.caller, wallet_id)
        return success(await readExport(ctx, request.caller, walletId, export_id))
      },
    )
  }
}
