/**
 * Gives a requested wallet its address: the next key of its tenant's seed. Runs in the signer process, as a job.
 *
 * Invariant: a wallet gets one key and a key belongs to one wallet, however often and wherever the job runs, because
 * the index and the address are appended together under both streams' versions.
 */
import { type Change, change } from '../event-log/aggregate.ts'
import { StreamConflict, UniqueRuleBroken } from '../event-log/commit.ts'
import { decided, type EventLog } from '../event-log/log.ts'
import { hdPath } from '../keys/hd-path.ts'
import type { KeyMaker } from '../keys/signer.ts'
import { walletAggregate } from './aggregate.ts'
import { keyIndexesAggregate, keyIndexesAt } from './key-indexes.ts'
import { loadRequest } from './load-request.ts'

/** Other signers may take an index first; after this many conflicts the job is retried later. */
const MAX_TRIES = 20

export type MakeHdWalletPorts = { readonly log: EventLog; readonly signer: KeyMaker }

/** @throws NotFound for an unknown wallet; Unavailable when the keystore does not answer: the job is retried */
export type MakeHdWallet = (walletId: string) => Promise<void>

export function createMakeHdWallet(ports: MakeHdWalletPorts): MakeHdWallet {
  /**
   * The last assignment of each tenant in this process: those of one tenant run one after the other instead of
   * conflicting in the log.
   */
  const queues = new Map<string, Promise<void>>()

  return async (walletId) => {
    const { metadata } = await loadRequest(ports.log, walletId)
    const { tenantId } = metadata
    const before = queues.get(tenantId) ?? Promise.resolve()
    const mine = before.catch(() => undefined).then(() => allot(ports, walletId)) // The failure of another wallet belongs to its own job.
    queues.set(tenantId, mine)
    try {
      await mine
    } finally {
      if (queues.get(tenantId) === mine) queues.delete(tenantId)
    }
  }
}

async function allot(ports: MakeHdWalletPorts, walletId: string): Promise<void> {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    if (await tryAllot(ports, walletId)) return
  }
  throw new StreamConflict(`${walletAggregate.category}-${walletId}`)
}

/** True when the wallet has its key, from this call or before; false when the index went to another wallet. */
async function tryAllot({ log, signer }: MakeHdWalletPorts, walletId: string): Promise<boolean> {
  const { wallet, metadata } = await loadRequest(log, walletId)
  if (wallet.state.status !== 'requested' || wallet.state.type !== 'hd') return true
  const { tenantId } = metadata
  const [head = { version: 0, hash: '' }] = await log.heads([`${keyIndexesAggregate.category}-${tenantId}`])
  const indexes = keyIndexesAt(tenantId, head)
  const index = indexes.state.next
  const { key, address } = await signer.createKey({ kind: 'hd', tenantId, index })
  const now = log.now()
  const context = { metadata, now }
  const ofMpcKeys = { publicKey: null, threshold: null, parties: null }
  const created = { address, key, derivationPath: hdPath(index), createdAt: now, ...ofMpcKeys }
  const allotted = change(keyIndexesAggregate, indexes, { type: 'Allot', walletId, address, now }, context)
  const recorded = change(walletAggregate, wallet, { type: 'RecordKey', created }, context)
  const outcome = await tryAppend(log, [allotted, recorded])
  if (outcome === 'address_taken') {
    await tryAppend(log, [change(keyIndexesAggregate, indexes, { type: 'Skip', address, now }, context)])
  }
  return outcome === 'appended'
}

/** `address_taken`: the tenant already watches the address, so this index must be skipped. */
async function tryAppend(
  log: EventLog,
  changes: readonly (Change | null)[],
): Promise<'appended' | 'conflict' | 'address_taken'> {
  try {
    await log.append({ changes: decided(changes) })
    return 'appended'
  } catch (error) {
    if (error instanceof StreamConflict) return 'conflict'
    if (error instanceof UniqueRuleBroken && error.constraint === 'wallets_address_once') return 'address_taken'
    throw error
  }
}
