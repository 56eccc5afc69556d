/** Makes requests at any time: transfers, some of which depend on others, cancellations and speed-ups. */
import type { EventLog } from '../../src/event-log/log.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { ASSET, untilObserved } from './balances.ts'
import { REVERTING, UNIT_WEI } from './chain.ts'
import { createLogPort, type PortsOf } from './ports.ts'
import { CHAIN_ID, isExpected, type World } from './terms.ts'

const RECIPIENT = `0x${'33'.repeat(20)}`
const METADATA = { tenantId: 'acme', actor: 'apikey:owner' }
/** Two of them fit into a wallet's initial balance. */
const GREAT = 200_000_000n * UNIT_WEI

export async function runOwner(world: World, ports: PortsOf, isStopped: () => boolean): Promise<void> {
  const { scheduler, random, store, accepted } = world
  const log = createLogPort(ports)
  const think = (label: string, isReady: () => boolean) =>
    scheduler.call({ actor: ports.actor, label, weight: 0.12, fallible: false, isReady }, () => undefined)
  await untilObserved(world, ports, isStopped, () => think('waits for the first look', () => true))
  while (!isStopped() && store.transactions.size < world.requests) {
    await think('thinks', () => true)
    const id = `tx_${(store.transactions.size + 1).toString().padStart(3, '0')}`
    const opening = { type: 'RequestTransaction', opening: 'TransferRequested', intent: intentOf(world, id) } as const
    await ask(log, id, opening)
    // The append behind a lost response may have succeeded: whatever is in the log is accepted.
    if (store.transactions.has(id) && !accepted.includes(id)) accepted.push(id)
    if (random.chance(0.5)) await change(world, log)
  }
  while (!isStopped()) {
    await think('thinks again', world.faults)
    if (world.faults() && random.chance(0.1)) await change(world, log)
  }
}

async function change({ random, store, accepted, wallClock }: World, log: EventLog): Promise<void> {
  if (accepted.length === 0) return
  const id = random.pick(accepted)
  if (!store.transactions.has(id)) return
  const now = new Date(wallClock()).toISOString()
  await ask(
    log,
    id,
    random.chance(0.5) ? { type: 'RequestCancellation', now } : { type: 'RequestSpeedUp', gasPriority: 'high', now },
  )
}

async function ask(log: EventLog, id: string, command: TransactionCommand): Promise<void> {
  await log.execute(transactionAggregate, id, command, { metadata: METADATA }).catch((error: unknown) => {
    const refusals = ['cancellation_requested', 'insufficient_funds']
    if (!isExpected(error) && !refusals.includes((error as { code?: string }).code ?? '')) throw error
  })
}

function intentOf({ random, lanes, accepted, wallClock, store }: World, id: string): Intent {
  const from = random.pick(lanes)
  const dependency = accepted.filter((other) => store.transactions.get(other)?.from_address === from)
  const dependsOn = dependency.length > 0 && random.chance(0.15) ? random.pick(dependency) : null
  const now = new Date(wallClock()).toISOString()
  return {
    tenantId: 'acme',
    walletId: from,
    network: 'ethereum',
    environment: 'mainnet',
    chainId: CHAIN_ID,
    from,
    to: random.chance(0.1) ? REVERTING : RECIPIENT,
    asset: { assetId: ASSET.assetId, symbol: ASSET.symbol, decimals: ASSET.decimals, contract: null },
    amount: (random.chance(0.3) ? GREAT : 0n) + BigInt(id.slice(3)),
    data: null,
    dependsOn,
    subject: null,
    gasPriority: random.pick(['low', 'medium', 'high']),
    reserved: { gasLimit: 21_000n, maxFeePerGas: 40n * UNIT_WEI },
    quote: null,
    referenceId: null,
    memo: null,
    validUntil: random.chance(0.1) ? new Date(wallClock() + 60_000).toISOString() : null,
    estimatedCompletionAt: now,
    requestedAt: now,
  }
}
