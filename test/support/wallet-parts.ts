/** The API process on a fresh database, and a signer of wallets with in-memory seeds. */

import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import { composeRecordedWallets } from '../../src/compose/recorded-wallets.ts'
import { createInTurn } from '../../src/core/in-turn.ts'
import type { Metadata } from '../../src/core/messages.ts'
import { createEventLog, type EventLog } from '../../src/event-log/log.ts'
import { subscribe } from '../../src/event-log/subscription.ts'
import { createHdSigner } from '../../src/keys/hd.ts'
import type { KeyMaker, Signer } from '../../src/keys/signer.ts'
import { voucherWork } from '../../src/nft/tokens/jobs.ts'
import { signVoucher } from '../../src/nft/tokens/sign-voucher.ts'
import { signatureWork } from '../../src/signatures/capability.ts'
import { signRecorded } from '../../src/signatures/sign-recorded.ts'
import { walletWork } from '../../src/wallets/jobs.ts'
import { makeHdWallet } from '../../src/wallets/make-hd-wallet.ts'
import { requestWallet, type WalletRequest } from '../../src/wallets/request-wallet.ts'
import { createSigningWalletOf } from '../../src/wallets/signing-wallet.ts'
import { withContext } from './capabilities.ts'
import type { TestLog } from './log.ts'

export const ACME: Metadata = { tenantId: 'acme', actor: 'test' }

/** A signer whose seeds are derived from the tenants' names. */
export function testSigner(): Signer & KeyMaker {
  const load = async (tenantId: string) => createHash('sha256').update(tenantId).digest()
  return createHdSigner({ seeds: { load, loadOrCreate: load } })
}

export type WalletParts = Awaited<ReturnType<typeof withWallets>>

/** Of the ports for hd wallets: a database without evidence of a restore. */
export const NEVER_RESTORED = { restores: async () => 0, draw: () => 0 }

/** Makes hd wallets as one signer process does. */
export function hdMaker(ctx: Omit<Parameters<typeof makeHdWallet>[0], 'inTurn'>): (walletId: string) => Promise<void> {
  const inTurn = createInTurn()
  return (walletId) => makeHdWallet({ ...ctx, inTurn }, walletId)
}

/** A signer gives keys to hd wallets where the test calls `makeHdWallet`; see also `runSigner`. */
export async function withWallets(...composed: Parameters<typeof withContext>) {
  const ctx = await withContext(...composed)
  return { ...ctx, makeHdWallet: hdMaker({ ...ctx, signer: testSigner(), ...NEVER_RESTORED }) }
}

/** A request for an hd wallet on ethereum. */
export function hdRequest(overrides: Partial<WalletRequest> = {}): WalletRequest {
  return {
    type: 'hd',
    network: 'ethereum',
    environment: 'mainnet',
    chainId: 1000001,
    label: '',
    externalId: null,
    mpc: null,
    ...overrides,
  }
}

/** A heartbeat an hour ahead stays fresh for a whole test, however slow the machine is. */
export const FRESH_FOR_THE_TEST = -3_600

/** Writes the heartbeat of a signer process. @param agoSeconds default: fresh until the test ends */
export async function beat({ pool }: Pick<TestLog, 'pool'>, agoSeconds = FRESH_FOR_THE_TEST): Promise<void> {
  await pool.query(
    `INSERT INTO heartbeats (process, instance, beat_at) VALUES ('signer', 'test', now() - $1 * interval '1 second')
     ON CONFLICT (process, instance) DO UPDATE SET beat_at = excluded.beat_at`,
    [agoSeconds],
  )
}

/** Another process on the same database: a separate log. */
export function anotherLog({ pool, wakeUps }: Pick<TestLog, 'pool' | 'wakeUps'>): EventLog {
  return createEventLog({ pool, wakeUps, clock: Date.now })
}

/** Requests a wallet and creates its key. Returns its id. */
export async function makeWallet(
  parts: WalletParts,
  overrides: Partial<WalletRequest> = {},
  metadata = ACME,
): Promise<string> {
  await beat(parts)
  const { id } = await requestWallet(parts, hdRequest(overrides), { metadata })
  await parts.makeHdWallet(id)
  return id
}

/** Follows the log, creates keys and signs, like dispatcher and signer together, until the test ends. */
export async function runSigner(t: Test, parts: WalletParts): Promise<void> {
  const { pool, log, wakeUps, makeHdWallet } = parts
  const walletOf = createSigningWalletOf(composeRecordedWallets({ log, pool }))
  const problems = { voucher: async () => null, signature: async () => null }
  const signing = { log, signer: testSigner(), walletOf, problems }
  await beat(parts)
  const stop = new AbortController()
  const running = (async () => {
    for await (const batch of subscribe({ pool, wakeUps, name: 'signer', signal: stop.signal })) {
      for (const { data } of batch.events.flatMap(voucherWork.jobsOf)) await signVoucher(signing, data.mint_id ?? '')
      for (const { data } of batch.events.flatMap(signatureWork.jobsOf))
        await signRecorded(signing, data.signature_id ?? '')
      for (const { queue, data } of batch.events.flatMap(walletWork.jobsOf)) {
        if (queue === 'wallet') await makeHdWallet(data.wallet_id ?? '')
      }
      await batch.commit()
    }
  })()
  t.after(async () => {
    stop.abort()
    await running
  })
}
