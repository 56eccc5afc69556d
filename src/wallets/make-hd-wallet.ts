/**
 * Gives a requested wallet its address: the next key of its tenant's seed. Runs in the signer process, as a job.
 *
 * Invariant: a wallet gets one key and a key belongs to one wallet, however often and wherever the job runs, because
 * the index and the address are appended together under both streams' versions.
 */
import { change } from '../event-log/aggregate.ts'
import { decided, type EventLog } from '../event-log/log.ts'
import { repeatOnConflict } from '../event-log/repeat-on-conflict.ts'
import { hdPath } from '../keys/hd-path.ts'
import type { KeyMaker } from '../keys/signer.ts'
import { isAddressTaken } from './address-taken.ts'
import { walletAggregate } from './aggregate.ts'
import { keyIndexesAggregate, keyIndexesAt } from './key-indexes.ts'
import { loadRequest } from './load-request.ts'

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
    const mine = before.catch(() => undefined).then(() => repeatOnConflict(() => allot(ports, walletId))) // The failure of another wallet belongs to its own job.
    queues.set(tenantId, mine)
    try {
      await mine
    } finally {
      if (queues.get(tenantId) === mine) queues.delete(tenantId)
    }
  }
}

/** @throws StreamConflict when another signer took the index first */
async function allot(ports: MakeHdWalletPorts, walletId: string): Promise<void> {
  const { log, signer } = ports
  const { wallet, metadata } = await loadRequest(log, walletId)
  if (wallet.state.status !== 'requested' || wallet.state.type !== 'hd') return
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
  try {
    await log.append({ changes: decided([allotted, recorded]) })
  } catch (error) {
    if (!isAddressTaken(error)) throw error
    const skipped = change(keyIndexesAggregate, indexes, { type: 'Skip', address, now }, context)
    await log.append({ changes: decided([skipped]) })
    await allot(ports, walletId)
  }
}
