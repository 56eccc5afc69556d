/**
 * A chain follower composed as in production, without tokens: it leads, processes blocks, settles, reconciles balances
 * and looks for lost nonces.
 */
import { createPace } from '../../src/chain/follow.ts'
import type { ChainSettings } from '../../src/chain/settings.ts'
import { createInTurn } from '../../src/core/in-turn.ts'
import type { Lease } from '../../src/event-log/leases.ts'
import { followChain } from '../../src/follower/follow-chain.ts'
import { recoveredAddress } from '../../src/keys/recovered-address.ts'
import { observeTransactions, settleTransactions, unwindTransactions } from '../../src/transactions/observe-blocks.ts'
import { createResolveNonces } from '../../src/transactions/resolve-nonces.ts'
import { oneNode } from '../support/one-node.ts'
import { lookAtAll, observeBalancesOf } from './balances.ts'
import { createBlockPort } from './block-port.ts'
import { nodeOf } from './node.ts'
import { createLeasesPort, createLogPort, createWalkedPort, type PortsOf } from './ports.ts'
import {
  CHAIN_ID,
  CONFIRMATIONS,
  FEE_CAP_WEI,
  isExpected,
  LEASE_MS,
  MIN_TIP_WEI,
  REBROADCAST_AFTER_MS,
  type World,
} from './terms.ts'

const SETTINGS: ChainSettings = {
  network: 'ethereum',
  environment: 'mainnet',
  chainId: CHAIN_ID,
  rpcUrls: [],
  confirmations: CONFIRMATIONS,
  minTipWei: MIN_TIP_WEI,
  maxTipWei: FEE_CAP_WEI,
  maxFeePerGasWei: FEE_CAP_WEI,
  pollIntervalMs: 0,
  multicall3Address: null,
  priceFeeds: {},
  tokens: [],
}

export async function runFollower(world: World, ports: PortsOf, isStopped: () => boolean): Promise<void> {
  const { scheduler } = world
  const leases = createLeasesPort(ports, LEASE_MS)
  while (!isStopped()) {
    const isReady = () => world.store.leases.isFree(`follow-${CHAIN_ID}`)
    await scheduler.call(
      { actor: ports.actor, label: 'wants to lead', weight: 0.3, fallible: false, isReady },
      () => undefined,
    )
    try {
      const lease = await leases.acquire(`follow-${CHAIN_ID}`)
      if (lease !== null) await leadUntilLost(world, ports, lease, isStopped)
    } catch (error) {
      scheduler.note(`  ${ports.actor.name}: ${error instanceof Error ? error.message : error}`)
      if (!isExpected(error)) throw error
    }
  }
}

/** Same as `lead` and `followAndTend`: when the lease is lost, or one part fails, all parts end. */
async function leadUntilLost(world: World, ports: PortsOf, lease: Lease, isStopped: () => boolean): Promise<void> {
  const stop = new AbortController()
  const turns = createInTurn()
  const inTurn: InTurn = (task) => turns('blocks', task)
  const beside = [
    keepRenewing(lease, stop),
    tendNonces(world, ports, lease, inTurn, stop.signal),
    reconcileOnce(world, ports, stop.signal),
  ]
  try {
    await followChain(
      {
        ...partsOf(world, ports),
        inTurn,
        recover: recoveredAddress,
        onUnstorable: () => undefined,
        stalls: { stepped: async () => undefined, failed: async () => undefined },
        onStep: () => isStopped() && stop.abort(),
      },
      lease,
      stop.signal,
    )
  } finally {
    stop.abort()
    await Promise.all(beside)
    await lease.release({ force: true }).catch(() => undefined)
  }
}

async function keepRenewing(lease: Lease, stop: AbortController): Promise<void> {
  try {
    while (!stop.signal.aborted) if (!(await lease.renew())) break
  } catch {
    // After a failed renewal the lease may be lost.
  }
  stop.abort()
}

type InTurn = <Result>(task: () => Promise<Result>) => Promise<Result>

async function tendNonces(
  world: World,
  ports: PortsOf,
  lease: Lease,
  inTurn: InTurn,
  signal: AbortSignal,
): Promise<void> {
  const { scheduler } = world
  const walked = createWalkedPort(ports, world.keptHashes)
  const observing = observePorts(world, ports)
  const reads = { ...observing.reads, ...(world.mutant.missesBlocks ? { ownSenders: async () => [] } : {}) }
  const parts = { ...observing, reads, client: oneNode(nodeOf(world, ports)), walkedHash: walked.hash, inTurn }
  const warn = (fields: object) =>
    scheduler.note(`  follower: what used ${'nonce' in fields ? fields.nonce : ''} is not found`)
  const resolve = createResolveNonces({ ...parts, settings: SETTINGS, logger: { warn } })
  while (!signal.aborted) {
    try {
      await scheduler.call(
        { actor: ports.actor, label: 'looks for lost nonces', weight: 0.1, fallible: false },
        () => undefined,
      )
      const finalized = ((await walked.cursor(CHAIN_ID))?.number ?? 0) - CONFIRMATIONS
      if (signal.aborted || finalized <= 0) continue
      await resolve(finalized, REBROADCAST_AFTER_MS, lease)
    } catch (error) {
      scheduler.note(`  ${ports.actor.name}: ${error instanceof Error ? error.message : error}`)
      if (!isExpected(error)) throw error
    }
  }
}

/** The first run of a new leader. Later runs would hide errors of the follower. */
async function reconcileOnce(world: World, ports: PortsOf, signal: AbortSignal): Promise<void> {
  const { scheduler } = world
  const { cursor } = createWalkedPort(ports, world.keptHashes)
  while (!signal.aborted) {
    try {
      await scheduler.call({ actor: ports.actor, label: 'reconciles', weight: 0.3, fallible: false }, () => undefined)
      const walked = await cursor(CHAIN_ID)
      if (walked === null) continue
      await lookAtAll(world, ports, 'reconciliation', walked)
      return
    } catch (error) {
      scheduler.note(`  ${ports.actor.name}: ${error instanceof Error ? error.message : error}`)
      if (!isExpected(error)) throw error
    }
  }
}

function partsOf(world: World, ports: PortsOf) {
  const { mutant } = world
  const observing = observePorts(world, ports)
  return {
    walked: createWalkedPort(ports, world.keptHashes),
    recordedBlocks: (upTo: number) => observing.reads.recordedBlocks(CHAIN_ID, upTo),
    log: observing.log,
    client: oneNode(nodeOf(world, ports)),
    pace: createPace(),
    settings: SETTINGS,
    // The scheduler decides when the next poll happens.
    pauseBetween: async () => undefined,
    observers: [
      {
        observe: (blocks: Parameters<typeof observeTransactions>[2]) =>
          observeTransactions(observing, CHAIN_ID, blocks),
        unwind: async (ancestor: number, head: number) =>
          mutant.keepsOrphans ? [] : unwindTransactions(observing, CHAIN_ID, { ancestor, head }),
      },
      observeBalancesOf(world, ports),
    ],
    settle: (head: number) => settleTransactions(observing, CHAIN_ID, head, mutant.tellsEarly ? 1 : CONFIRMATIONS),
  }
}

function observePorts({ lanes }: World, ports: PortsOf) {
  return {
    reads: createBlockPort(ports, lanes),
    log: createLogPort(ports),
    kinds: new Map(),
    revertReason: async () => 'it reverts',
  }
}
