/**
 * Seals a wallet's key to the recipient of an export. Runs in the signer process, as a job.
 *
 * Invariant: the event and the file are one commit, so the hash in the log is that of the file, whichever of two
 * signers is first; and nothing is sealed that the signer's own settings do not allow, whoever wrote the request.
 */
import { hash } from 'node:crypto'
import type { Context } from '../context.ts'
import { Unavailable } from '../core/errors.ts'
import { toInstant } from '../core/ids.ts'
import { decideOn, type ReadModelRow } from '../event-log/aggregate.ts'
import type { Decided } from '../event-log/commit.ts'
import { type Opened, requireSound } from '../event-log/load-checked.ts'
import { armored, sealTo } from '../keys/age.ts'
import { type HdKey, hdKey } from '../keys/hd-key.ts'
import { hdPath } from '../keys/hd-path.ts'
import type { CheckRequests } from '../policies/check-requests.ts'
import { problemOf, recordedRequest } from '../policies/recorded-problem.ts'
import { judgedExport } from '../policies/signature-intents.ts'
import { type WalletFacts, type WalletFactsOf, WalletUnfit } from '../wallets/wallet-facts.ts'
import { exportAggregate } from './aggregate.ts'
import { type ExportCommand, refusalOf } from './decider.ts'
import type { ExportState, KnownExport } from './state.ts'

/** Retention in ms: long enough for a caller that lost its connection to retry; then the file is deleted. */
const KEPT_MS = 60 * 60_000

/** A request of the log, with what its first event is recorded with. */
export type RecordedExport = { readonly id: string; readonly opened: Opened; readonly state: KnownExport }

/** Why the policy of the log forbids it, as a sentence; `null` if it does not. @throws Unavailable */
export type ExportProblem = (
  recorded: RecordedExport,
  wallet: Pick<WalletFacts, 'network' | 'chainId'>,
) => Promise<string | null>

/** By the policy of the log. */
export function exportProblem(check: CheckRequests): ExportProblem {
  return async ({ id, opened, state }, { network, chainId }) =>
    problemOf(check, {
      ...recordedRequest({ id, ...opened }, state),
      reservations: state.reservations,
      judge: (facts) => judgedExport({ ...state, network, chainId }, facts),
    })
}

/** What sealing needs of the signer process. */
export type SealContext = Pick<Context, 'log'> & {
  readonly problemOf: ExportProblem
  readonly walletOf: WalletFactsOf
  readonly loadSeed: (tenantId: string) => Promise<Uint8Array>
  /** The recipients in this process's settings; `null` for any. */
  readonly config: Pick<Context['config'], 'exportRecipients'>
  readonly logger: { readonly warn: (fields: object, message: string) => void }
  readonly metrics: Pick<Context['metrics'], 'count'>
}

/**
 * Each export that ended here is logged and counted.
 *
 * @throws Unavailable when the keystore does not answer, or did not create the wallet; BrokenChain; WalletUnfit for what the policy of
 *   the log forbids: the job is retried
 */
export async function sealExport(ctx: SealContext, exportId: string): Promise<void> {
  // After a conflict, the next attempt sees that another signer was first: its file is kept.
  const [ended] = await ctx.log.commit(() => sealOnce(ctx, exportId))
  const after = ended?.after.state
  if (after === undefined || after.status === 'unknown') return
  const { tenantId, walletId, recipient, status, refusal } = after
  const fields = { export_id: exportId, tenant_id: tenantId, wallet_id: walletId, recipient, refusal }
  ctx.logger.warn(fields, status === 'exported' ? 'wallet key exported' : 'export of a wallet key refused')
  ctx.metrics.count('bursar_wallet_exports_total', { step: status === 'exported' ? 'exported' : 'refused' })
}

async function sealOnce(ctx: SealContext, exportId: string): Promise<Decided<ExportState>> {
  const { log, config } = ctx
  const { opened, ...loaded } = requireSound(await log.loadChecked(exportAggregate, [exportId]))
  const { state } = loaded
  if (state.status !== 'requested' || opened === null) return []
  const now = log.now()
  const refusal = refusalOf(state, config.exportRecipients, now)
  const { command, rows } =
    refusal === null
      ? await seal(ctx, { id: exportId, opened, state }, now)
      : { command: { type: 'Refuse', refusal, now } as const, rows: [] }
  const metadata = { tenantId: state.tenantId, actor: 'worker:signer', causationId: exportId }
  return { decisions: [decideOn(exportAggregate, loaded, command, { metadata, now })], rows }
}

type Sealed = { readonly command: ExportCommand; readonly rows: readonly ReadModelRow[] }

async function seal(ctx: SealContext, recorded: RecordedExport, now: string): Promise<Sealed> {
  const { id: exportId, state } = recorded
  const plaintext = await keyFile(ctx, recorded, now)
  const file = await sealTo([state.recipient], plaintext).finally(() => plaintext.fill(0))
  const ciphertext = armored(file)
  const expiresAt = toInstant(Date.parse(now) + KEPT_MS)
  return {
    command: { type: 'RecordExport', sha256: hash('sha256', ciphertext), now, expiresAt },
    rows: [{ table: 'wallet_export_files', row: { export_id: exportId, ciphertext, expires_at: expiresAt } }],
  }
}

/** The content for the recipient: the key, and everything needed to use it elsewhere. For the caller to wipe. */
async function keyFile(
  { walletOf, loadSeed, problemOf }: SealContext,
  recorded: RecordedExport,
  now: string,
): Promise<Uint8Array> {
  const { id: exportId, state } = recorded
  const { walletId, tenantId } = state
  const wallet = await walletOf(walletId)
  if (wallet?.key?.kind !== 'hd') throw new Error(`wallet ${walletId} has no hd key`)
  const { address, network, environment, chainId, key } = wallet
  if (wallet.tenantId !== tenantId || key.tenantId !== tenantId) {
    throw new Error(`export ${exportId} of tenant ${tenantId} refers to a wallet or a key of another tenant`)
  }
  if (wallet.openedFrom !== null) throw new WalletUnfit(`The key of ${walletId} is exported from ${wallet.openedFrom}.`)
  const problem = await problemOf(recorded, wallet)
  if (problem !== null) throw new WalletUnfit(`${exportId} does not match the event log: ${problem}.`)
  const seed = await loadSeed(key.tenantId)
  const derived = derive(seed, key.index)
  try {
    if (derived.address !== address) {
      throw new Unavailable(
        'keystore_wrong',
        `The keystore derives a different address than that of ${walletId}: restore the keystore that created the wallet.`,
      )
    }
    const facts = {
      format: 'bursar exported key',
      version: 1,
      export_id: exportId,
      wallet_id: walletId,
      type: 'hd',
      address,
      private_key: KEY_GOES_HERE,
      derivation_path: hdPath(key.index),
      network,
      environment,
      chain_id: chainId,
      exported_at: now,
    }
    return withKey(JSON.stringify(facts, null, 2), derived)
  } finally {
    derived.wipe()
  }
}

function derive(seed: Uint8Array, index: number): HdKey {
  try {
    return hdKey(seed, index)
  } finally {
    seed.fill(0)
  }
}

/** A placeholder that cannot occur elsewhere in the file: names and addresses do not have these characters. */
const KEY_GOES_HERE = '0x<key>'
const HEX_DIGITS = Buffer.from('0123456789abcdef')

/** The text as bytes with the key inserted, in hex. The key is never in a string, which could not be wiped. */
function withKey(text: string, key: HdKey): Uint8Array {
  const [before = '', after = ''] = text.split(KEY_GOES_HERE.slice(2))
  const secret = key.reveal()
  const file = new Uint8Array(Buffer.byteLength(before) + 2 * secret.length + Buffer.byteLength(after))
  file.set(Buffer.from(before))
  let at = Buffer.byteLength(before)
  for (const byte of secret) {
    file[at++] = HEX_DIGITS[byte >> 4] ?? 0
    file[at++] = HEX_DIGITS[byte & 0xf] ?? 0
  }
  secret.fill(0)
  file.set(Buffer.from(after), at)
  return file
}
