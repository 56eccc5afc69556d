/**
 * Accepts the request to export a wallet's key. This code never has the key: a signer seals it, once, to the recipient
 * of the request.
 */
import type { Context } from '../context.ts'
import { Conflict, PermissionDenied, ValidationFailed } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import { type JudgedParts, policyLimitOf, type Reserving } from '../core/policy-limit.ts'
import type { Accept, Accepted } from '../event-log/accept.ts'
import { decideNew } from '../event-log/aggregate.ts'
import { LimitReached, WalletGuardRefused } from '../event-log/append.ts'
import type { EventLog } from '../event-log/log.ts'
import { requireRecipient } from '../keys/age.ts'
import { withAddress } from '../wallets/find-wallet.ts'
import type { WalletFacts } from '../wallets/wallet-facts.ts'
import { exportAggregate } from './aggregate.ts'
import { isAllowed } from './decider.ts'
import type { WalletExportRequested } from './events.ts'

/** What the request of an export needs of its process. */
export type ExportContext = Pick<Context, 'newId'> & {
  readonly log: Pick<EventLog, 'now'>
  readonly accept: Accept
  /** The recipients in the settings; exports are off when empty; `null` for any. */
  readonly config: Pick<Context['config'], 'exportRecipients'>
  readonly judge: {
    /** What the policy says, for the event. @throws PolicyRefused */
    readonly export: (
      requested: Pick<WalletFacts, 'tenantId' | 'environment' | 'walletId' | 'network' | 'chainId'> & {
        readonly requestedAt: string
      },
      asking: Pick<Metadata, 'actor'> & { readonly accepting: Metadata },
    ) => Promise<JudgedParts>
  }
  readonly logger: { readonly warn: (fields: object, message: string) => void }
  readonly metrics: Pick<Context['metrics'], 'count'>
}

/**
 * @throws ValidationFailed `mpc_not_exportable`, `watch_only`, `use_key_owner`, `invalid_recipient`, `secret_key_given`; PermissionDenied
 *   `export_not_configured`, `recipient_not_allowed`; Conflict `wallet_not_ready`, `wallet_archived`; IdempotencyKeyReused;
 *   PolicyRefused
 */
export async function requestExport(
  ctx: ExportContext,
  wallet: WalletFacts,
  recipient: string,
  { metadata }: { readonly metadata: Metadata },
): Promise<Accepted> {
  const allowedRecipients = ctx.config.exportRecipients
  const accepted = await ctx.accept(metadata, async (append) => {
    requireHd(wallet)
    requireOwner(wallet)
    if (allowedRecipients?.length === 0) throw notConfigured()
    await requireRecipient(recipient, 'recipient')
    if (!isAllowed(recipient, allowedRecipients)) throw notAllowed()
    const { walletId, tenantId, environment, network, chainId } = withAddress(wallet)
    const id = ctx.newId('export')
    const now = ctx.log.now()
    const place = { tenantId, walletId, environment, requestedAt: now }
    const judged = await ctx.judge.export(
      { ...place, network, chainId },
      { actor: metadata.actor, accepting: metadata },
    )
    const request = { ...place, recipient, ...judged }
    const explain = (refusal: unknown) => explainRefusal(refusal, { ...place, ...judged })
    const decisions = [decideNew(exportAggregate, id, { type: 'RequestExport', request }, { metadata, now })]
    const guards = { wallet: { walletId, require: 'active' } } as const
    return append({ id, commit: { decisions, guards }, explain, made: request })
  })
  if (!accepted.replayed) reportRequest(ctx, accepted.id, accepted.made, metadata)
  return accepted
}

/** Each accepted request, in the log of the process and in the metrics. */
function reportRequest(
  { logger, metrics }: ExportContext,
  exportId: string,
  { tenantId, walletId, recipient }: WalletExportRequested['data'],
  { actor }: Metadata,
): void {
  const fields = { export_id: exportId, tenant_id: tenantId, wallet_id: walletId, recipient, actor }
  logger.warn(fields, 'export of a wallet key requested')
  metrics.count('bursar_wallet_exports_total', { step: 'requested' })
}

function explainRefusal(refusal: unknown, requested: Reserving): unknown {
  if (refusal instanceof LimitReached) return policyLimitOf(refusal, [requested]) ?? refusal
  return refusal instanceof WalletGuardRefused ? archived() : refusal
}

function requireHd({ type }: WalletFacts): void {
  if (type === 'mpc') {
    const rule =
      'The key of an mpc wallet exists only as shares, so it cannot be exported: ask an operator for a recovery kit.'
    throw ValidationFailed.field('wallet_id', 'mpc_not_exportable', rule)
  }
  if (type === 'watch') {
    const rule = 'A watch wallet has no key in this service, so there is nothing to export.'
    throw ValidationFailed.field('wallet_id', 'watch_only', rule)
  }
}

/** The key is exported for all wallets that use it, as the policy says of the one that it belongs to. */
function requireOwner({ openedFrom }: WalletFacts): void {
  if (openedFrom === null) return
  const rule = `The key of the wallet belongs to ${openedFrom}: export the key of that wallet. It is the same key.`
  throw ValidationFailed.field('wallet_id', 'use_key_owner', rule)
}

function notConfigured(): PermissionDenied {
  return new PermissionDenied(
    'export_not_configured',
    'Exports are disabled: EXPORT_RECIPIENTS is not set. Ask the operator to set it for the API and the signers.',
  )
}

function notAllowed(): PermissionDenied {
  return new PermissionDenied(
    'recipient_not_allowed',
    'This recipient is not in EXPORT_RECIPIENTS: use a recipient from that setting.',
  )
}

function archived(): Conflict {
  return new Conflict('wallet_archived', 'The wallet is archived: restore it before you export its key.')
}
