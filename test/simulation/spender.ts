/**
 * A client that spends everything its wallet has, in every way: transfers alone and in batches, contract calls, mints,
 * calls that depend on others, speed-ups and cancellations. It asks for no more than is available, or for all of it.
 */

import { largest } from '../../src/core/money.ts'
import type { Opening } from '../../src/core/registry.ts'
import { decideNew } from '../../src/event-log/aggregate.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { encodeMint } from '../../src/nft/contracts/encode-calls.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import type { Run } from './actors.ts'
import { ASSET, untilObserved } from './balances.ts'
import { UNIT_WEI } from './chain.ts'
import { createLogPort } from './ports.ts'
import { CHAIN_ID, isExpected, type World } from './terms.ts'

const RECIPIENT = `0x${'33'.repeat(20)}`
const CONTRACT = `0x${'44'.repeat(20)}`
const METADATA = { tenantId: 'acme', actor: 'apikey:spender' }
const PRICE = 40n * UNIT_WEI
const MINT_CALL = encodeMint('ERC721', 1n, { recipient: RECIPIENT, amount: 1n, digest: `0x${'55'.repeat(32)}` })
const CONTRACT_CALL = `0x${'a0'.repeat(36)}`

const REF = { assetId: ASSET.assetId, symbol: ASSET.symbol, decimals: ASSET.decimals, contract: null }
const CALL = {
  function: null,
  signature: null,
  selector: CONTRACT_CALL.slice(0, 10),
  args: null,
  events: [],
  errors: [],
  spends: [],
}

type Part = { readonly opening: Opening; readonly gasLimit: bigint } & Partial<Intent>

/** @param isOpen whether it asks for more */
export function createSpender(isOpen: () => boolean): Run {
  return async (world, ports, isStopped) => {
    const { scheduler, random, accepted } = world
    const log = createLogPort(ports)
    const think = (isReady: () => boolean) =>
      scheduler.call({ actor: ports.actor, label: 'thinks', weight: 0.3, fallible: false, isReady }, () => undefined)
    await untilObserved(world, ports, isStopped, () => think(() => true))
    while (!isStopped()) {
      await think(isOpen)
      if (!isOpen()) continue
      if (accepted.length < world.requests && random.chance(0.6)) await request(world, log)
      else await change(world, log)
    }
  }
}

async function request(world: World, log: EventLog): Promise<void> {
  const { store, accepted, newNumber } = world
  const ids: string[] = []
  const decisions = partsOf(world).map(({ opening, gasLimit, ...part }, index) => {
    const id = `tx_${newNumber()}`
    const dependsOn = opening === 'ContractCallRequested' && index > 0 ? (ids[index - 1] ?? null) : null
    const intent = { ...intentOf(world), ...part, dependsOn, reserved: { gasLimit, maxFeePerGas: PRICE } }
    ids.push(id)
    const command = { type: 'RequestTransaction', opening, intent } as const
    return decideNew(transactionAggregate, id, command, { metadata: METADATA, now: log.now() })
  })
  await tolerantly(log.append({ decisions }))
  for (const id of ids) if (store.transactions.has(id)) accepted.push(id)
}

/** The transactions of one request. */
function partsOf(world: World): readonly Part[] {
  const { random } = world
  const gasLimit = random.pick([50_000n, 100_000n, 150_000n])
  const subject = (type: 'transfer_batch' | 'mint') => ({ type, id: `${type}_1` })
  const plain = { opening: 'TransferRequested', gasLimit: 21_000n } as const
  const call = { opening: 'ContractCallRequested', gasLimit, to: CONTRACT, data: CONTRACT_CALL, call: CALL } as const
  switch (random.pick(['transfer', 'everything', 'batch', 'call', 'mint', 'behind'] as const)) {
    case 'transfer':
      return [{ ...plain, amount: small(world) }]
    case 'everything':
      return [{ ...plain, amount: largest(1n, available(world) - 21_000n * PRICE) }]
    case 'batch':
      return [1, 2, 3].map(() => ({ ...plain, amount: small(world), subject: subject('transfer_batch') }))
    case 'call':
      return [{ ...call, amount: small(world), outflows: [{ asset: REF, amount: small(world) }] }]
    case 'mint':
      return [
        { opening: 'MintRequested', gasLimit, to: CONTRACT, data: MINT_CALL, subject: subject('mint'), amount: 0n },
      ]
    // As a swap behind its approval.
    case 'behind':
      return [
        {
          opening: 'MintRequested',
          gasLimit: 60_000n,
          to: CONTRACT,
          data: MINT_CALL,
          subject: subject('mint'),
          amount: 0n,
        },
        { ...call, amount: available(world) / 3n },
      ]
  }
}

function small({ random }: World): bigint {
  return BigInt(random.between(1, 90)) * 1_000_000n * UNIT_WEI
}

/** As a client reads it. */
function available({ store, lanes }: World): bigint {
  const account = `${lanes[0]} ${ASSET.assetId}`
  return largest(0n, (store.balances.get(account) ?? 0n) - (store.held.get(account) ?? 0n))
}

function intentOf({ lanes, random, wallClock }: World): Omit<Intent, 'reserved'> {
  const [from = ''] = lanes
  const now = new Date(wallClock()).toISOString()
  return {
    tenantId: 'acme',
    walletId: from,
    network: 'ethereum',
    environment: 'mainnet',
    chainId: CHAIN_ID,
    from,
    to: RECIPIENT,
    asset: REF,
    amount: 0n,
    data: null,
    dependsOn: null,
    subject: null,
    gasPriority: random.pick(['low', 'medium', 'high']),
    quote: null,
    referenceId: null,
    memo: null,
    validUntil: random.chance(0.15) ? new Date(wallClock() + 20_000).toISOString() : null,
    estimatedCompletionAt: now,
    requestedAt: now,
  }
}

async function change({ random, accepted, wallClock }: World, log: EventLog): Promise<void> {
  const id = random.pick(accepted)
  if (id === undefined) return
  const now = new Date(wallClock()).toISOString()
  const command = random.chance(0.3)
    ? ({ type: 'RequestCancellation', now } as const)
    : ({ type: 'RequestSpeedUp', gasPriority: 'high', now } as const)
  await tolerantly(log.execute(transactionAggregate, id, command, { metadata: METADATA }))
}

async function tolerantly(task: Promise<unknown>): Promise<void> {
  await task.catch((error: unknown) => {
    const refusals = ['cancellation_requested', 'insufficient_funds']
    if (!isExpected(error) && !refusals.includes((error as { code?: string }).code ?? '')) throw error
  })
}
