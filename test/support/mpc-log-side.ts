/**
 * Joint keys on a fresh database, with in-memory parties. For the rules of the log only: which attempt counts, and the
 * effects of races and crashes. They create no shares and sign nothing: the ceremonies are tested with the real engine
 * and real parties.
 */

import { setImmediate as turn } from 'node:timers/promises'
import { SigningKey, Wallet } from 'ethers'
import type { Pool } from 'pg'
import type { Test } from 'tap'
import { v7 } from 'uuid'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import type { Metadata } from '../../src/core/messages.ts'
import type { NewId } from '../../src/core/registry.ts'
import { ID_PREFIXES } from '../../src/declarations.ts'
import type { Difference } from '../../src/event-log/compare-shadow.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import type { Ceremonies, JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { generateKey } from '../../src/mpc-wallets/generate-key.ts'
import { createJointKeysOf } from '../../src/mpc-wallets/joint-keys.ts'
import { makeMpcWallet as giveKey } from '../../src/mpc-wallets/make-mpc-wallet.ts'
import { type Accusation, recordAccusation } from '../../src/mpc-wallets/record-accusation.ts'
import { refreshShares } from '../../src/mpc-wallets/refresh-shares.ts'
import { requestRefresh } from '../../src/mpc-wallets/request-refresh.ts'
import { requestWallet } from '../../src/wallets/request-wallet.ts'
import type { WalletFacts } from '../../src/wallets/wallet-facts.ts'
import { ACME, FRESH_FOR_THE_TEST, hdRequest, type WalletParts, withWallets } from './wallet-parts.ts'

export const newId: NewId = (kind) => `${ID_PREFIXES[kind]}_${v7()}`
export const TERMS = { threshold: 2, parties: 3 }

/** One party stores the result of a ceremony. */
export type Step = { readonly ceremony: keyof Ceremonies; readonly id: string; readonly party: number }

export type RememberedParties = Ceremonies & {
  /** Called before each party stores; if it throws, the ceremony ends there. */
  onStep: (step: Step) => void | Promise<void>
  /** Every ceremony that began, in order. */
  readonly begun: readonly { readonly ceremony: keyof Ceremonies; readonly id: string; readonly party?: number }[]
  /** The maximum number of concurrent ceremonies. */
  readonly mostAtOnce: () => number
  /** Whether every party holds the shares that the log names. */
  readonly holdsAllOf: (key: JointKey) => boolean
}

export function rememberedParties(): RememberedParties {
  const held = new Set<string>()
  const begun: { ceremony: keyof Ceremonies; id: string; party?: number }[] = []
  let running = 0
  let most = 0
  const share = (party: number, keyId: string, attempt: string | null) => `${party} ${keyId} ${attempt}`

  async function run(
    ceremony: keyof Ceremonies,
    key: { readonly keyId: string; readonly parties: readonly number[] },
    attempt: string | null,
    repaired?: number,
  ): Promise<void> {
    const id = attempt ?? key.keyId
    begun.push({ ceremony, id, ...(repaired === undefined ? {} : { party: repaired }) })
    running += 1
    most = Math.max(most, running)
    try {
      for (const party of key.parties) {
        await turn()
        await parties.onStep({ ceremony, id, party })
        held.add(share(party, key.keyId, attempt))
      }
    } finally {
      running -= 1
    }
  }

  const parties: RememberedParties = {
    begun,
    onStep: () => undefined,
    mostAtOnce: () => most,
    holdsAllOf: ({ keyId, parties: members, refreshId }) =>
      members.every((party) => held.has(share(party, keyId, refreshId))),
    async generateKey(request) {
      await run('generateKey', request, null)
      const { address, privateKey } = Wallet.createRandom()
      return { address, publicKey: SigningKey.computePublicKey(privateKey, true) }
    },
    prepareRefresh: ({ key, refreshId }) => run('prepareRefresh', key, refreshId),
    prepareRecovery: ({ key, party, refreshId }) => run('prepareRecovery', key, refreshId, party),
  }
  return parties
}

export type MpcParts = Awaited<ReturnType<typeof withMpcKeys>>

/** The parts of a signer process, on its own log. */
export function signerOn(log: EventLog, pool: Pool, ceremonies: Ceremonies, clock = Date.now) {
  const givenUp: string[] = []
  const logger = { error: (fields: object) => givenUp.push((fields as { readonly refresh_id: string }).refresh_id) }
  const ctx = { log, pool, ceremonies, newId, clock, logger, busyKeys: new Set<string>() }
  return {
    generateKey: (keyId: string, terms: typeof TERMS) => generateKey(ctx, keyId, terms),
    givenUp,
    makeMpcWallet: (walletId: string) => giveKey(ctx, walletId),
    refreshShares: (keyId: string) => refreshShares(ctx, keyId),
  }
}

/** Records accusations of parties, as one signer process does. @param onReported called with what it logs */
export function accusationsOn(log: EventLog, onReported: (report: string) => void = () => undefined) {
  const logger = {
    error(fields: object, message: string) {
      const { epoch, accused_by: by } = fields as { readonly epoch: number; readonly accused_by: number }
      onReported(`epoch ${epoch}: ${by} ${message.includes('is banned') ? 'banned' : 'accused'}`)
    },
  }
  const metrics = { count: () => undefined }
  return (accusation: Accusation) => recordAccusation({ log, logger, metrics }, accusation)
}

export async function withMpcKeys(t: Test) {
  const wallets = await withWallets(t)
  const { pool, log, accept } = wallets
  const parties = rememberedParties()
  return {
    ...wallets,
    parties,
    ...signerOn(log, pool, parties),
    requestRefresh: (wallet: WalletFacts, lostBy: number | null, context: { readonly metadata: Metadata }) =>
      requestRefresh({ log, newId, accept }, wallet, lostBy, context),
    jointKeysOf: createJointKeysOf(log),
  }
}

/** Writes heartbeats of processes. @param agoSeconds default: fresh until the test ends */
export async function beatAs(pool: Pool, processes: readonly string[], agoSeconds = FRESH_FOR_THE_TEST): Promise<void> {
  await pool.query(
    `INSERT INTO heartbeats (process, instance, beat_at)
       SELECT process, 'test', now() - $2 * interval '1 second' FROM unnest($1::text[]) AS process
     ON CONFLICT (process, instance) DO UPDATE SET beat_at = excluded.beat_at`,
    [processes, agoSeconds],
  )
}

export const ALL_ALIVE = ['signer', 'mpc-party-1', 'mpc-party-2', 'mpc-party-3']

/** Requests an mpc wallet, which waits for its key. Returns its id. */
export async function requestMpc(parts: WalletParts, mpc: typeof TERMS | null = null): Promise<string> {
  await beatAs(parts.pool, ALL_ALIVE)
  return (await requestWallet(parts, hdRequest({ type: 'mpc', mpc }), { metadata: ACME })).id
}

/** An mpc wallet with its key. */
export async function makeMpcWallet(parts: MpcParts): Promise<WalletFacts & { readonly keyId: string }> {
  const id = await requestMpc(parts)
  await parts.makeMpcWallet(id)
  const facts = await parts.findWallet({ tenantId: 'acme', environment: 'mainnet' }, id)
  if (facts.key?.kind !== 'mpc') throw new Error(`${id} has no joint key`)
  return { ...facts, keyId: facts.key.keyId }
}

/** The current state of a key in the log. */
export async function jointKey({ jointKeysOf }: Pick<MpcParts, 'jointKeysOf'>, keyId: string): Promise<JointKey> {
  const key = (await jointKeysOf([keyId])).get(keyId)
  if (key === undefined) throw new Error(`the log has no key ${keyId}`)
  return key
}

/** Rows in which the read models differ from the fold of the log. */
export async function differences(pool: Pool): Promise<Difference[]> {
  return [...(await compareLive(pool, LOG_CONTENTS)).differences]
}
