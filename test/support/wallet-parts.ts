/** The wallet capability on a fresh database, composed like the API and the signer process, with in-memory seeds. */

import { createHash } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import type { Test } from 'tap'
import { v7 } from 'uuid'
import { findPositive } from '../../src/balances/find-balances.ts'
import { composeRecordedWallets } from '../../src/compose/recorded-wallets.ts'
import { ValidationFailed } from '../../src/core/errors.ts'
import type { Metadata } from '../../src/core/messages.ts'
import type { ChainKey } from '../../src/core/networks.ts'
import type { NewId } from '../../src/core/registry.ts'
import { ID_PREFIXES } from '../../src/declarations.ts'
import { createEventLog, type EventLog } from '../../src/event-log/log.ts'
import { subscribe } from '../../src/event-log/subscription.ts'
import { PrismaClient } from '../../src/generated/prisma/client.ts'
import { createHdSigner } from '../../src/keys/hd.ts'
import type { KeyMaker, Signer } from '../../src/keys/signer.ts'
import { voucherWork } from '../../src/nft/tokens/jobs.ts'
import { signVoucher } from '../../src/nft/tokens/sign-voucher.ts'
import { signatureWork } from '../../src/signatures/capability.ts'
import { signRecorded } from '../../src/signatures/sign-recorded.ts'
import { archiveWallet } from '../../src/wallets/archive-wallet.ts'
import { createFindWallet } from '../../src/wallets/find-wallet.ts'
import { walletWork } from '../../src/wallets/jobs.ts'
import { createMakeHdWallet } from '../../src/wallets/make-hd-wallet.ts'
import { listWallets, readWallet } from '../../src/wallets/read-wallets.ts'
import { requestWallet, type WalletRequest } from '../../src/wallets/request-wallet.ts'
import { restoreWallet } from '../../src/wallets/restore-wallet.ts'
import { reviseWallet } from '../../src/wallets/routes.ts'
import { createSigningWalletOf } from '../../src/wallets/signing-wallet.ts'
import { createWaitForWallet } from '../../src/wallets/wait-for-wallet.ts'
import { createWalletFacts, type WalletFacts } from '../../src/wallets/wallet-facts.ts'
import { watchWallet } from '../../src/wallets/watch-wallet.ts'
import { NATIVE, type TestLog, withLog } from './log.ts'

/** Chains of the tests: ethereum and polygon on mainnet. */
const CHAIN_IDS: Readonly<Record<string, number>> = { 'ethereum mainnet': 1000001, 'polygon mainnet': 1000137 }

export const ACME: Metadata = { tenantId: 'acme', actor: 'test' }

const newId: NewId = (kind) => `${ID_PREFIXES[kind]}_${v7()}`

/** A signer whose seeds are derived from the tenants' names. */
export function testSigner(): Signer & KeyMaker {
  const load = async (tenantId: string) => createHash('sha256').update(tenantId).digest()
  return createHdSigner({ seeds: { load, loadOrCreate: load } })
}

export type WalletParts = Awaited<ReturnType<typeof withWallets>>

/** Of the ports for hd wallets: a database without evidence of a restore. */
export const NEVER_RESTORED = { restores: async () => 0, draw: () => 0 }

/** The arguments of a use case behind the context. */
type After<Use> = Use extends (ctx: never, ...asked: infer Asked) => unknown ? Asked : never

export async function withWallets(t: Test) {
  const test = await withLog(t)
  const { pool, log, accept, wakeUps } = test
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
  t.after(() => prisma.$disconnect())
  const ctx = {
    ...{ log, accept, pool, wakeUps, newId, prisma },
    findWallet: createFindWallet(createWalletFacts(pool)),
    waitForWallet: createWaitForWallet({ pool, wakeUps }),
    config: { mpc: { threshold: 2, parties: 3 } },
    chains: { get: (key: ChainKey) => ({ settings: { chainId: chainIdOf(key) } }) },
    positiveBalances: (walletId: string) => findPositive(pool, walletId),
    describeAsset: async (_wallet: WalletFacts, assetId: string) => (assetId === NATIVE.assetId ? NATIVE : null),
  }
  return {
    ...test,
    ...ctx,
    reads: {
      read: (...asked: After<typeof readWallet>) => readWallet(ctx, ...asked),
      list: (...asked: After<typeof listWallets>) => listWallets(ctx, ...asked),
    },
    requestWallet: (...asked: After<typeof requestWallet>) => requestWallet(ctx, ...asked),
    watchWallet: (...asked: After<typeof watchWallet>) => watchWallet(ctx, ...asked),
    reviseWallet: (...asked: After<typeof reviseWallet>) => reviseWallet(ctx, ...asked),
    archiveWallet: (...asked: After<typeof archiveWallet>) => archiveWallet(ctx, ...asked),
    restoreWallet: (...asked: After<typeof restoreWallet>) => restoreWallet(ctx, ...asked),
    makeHdWallet: createMakeHdWallet({ pool, log, signer: testSigner(), ...NEVER_RESTORED }),
    chainIdOf,
  }
}

function chainIdOf({ network, environment }: ChainKey): number {
  const chainId = CHAIN_IDS[`${network} ${environment}`]
  if (chainId === undefined) {
    throw ValidationFailed.field(
      'network',
      'network_not_configured',
      `${network} is not configured: set BINANCE_RPC_URLS.`,
    )
  }
  return chainId
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
  const { id } = await parts.requestWallet(hdRequest(overrides), { metadata })
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
