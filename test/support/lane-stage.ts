/**
 * One lane on a real database: requests arrive with the login of an API, and the production code of the lane signs with
 * that of a signer. The chain and the keys are made up, so that a test says what happens while a lane works.
 */

import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { Test } from 'tap'
import { EMPTY_TRANSFER_GAS } from '../../src/chain/forks.ts'
import { decideNew } from '../../src/event-log/aggregate.ts'
import { createLeases } from '../../src/event-log/leases.ts'
import { createEventLog, type EventLog } from '../../src/event-log/log.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { CheckRecorded } from '../../src/transactions/check-recorded.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import type { EstimateGas } from '../../src/transactions/estimate-gas.ts'
import type { NeededGas } from '../../src/transactions/gas-budget.ts'
import { createDeferred } from '../../src/transactions/held-lanes.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import type { LaneContext } from '../../src/transactions/lane-context.ts'
import { createLaneReads, laneName } from '../../src/transactions/lanes.ts'
import { signLane } from '../../src/transactions/sign-lane.ts'
import type { KnownTransaction } from '../../src/transactions/state.ts'
import { loginAs } from './database-login.ts'
import { createDrainLane, type DrainLane } from './drain-lane.ts'
import { osakaRules } from './gas.ts'
import { NATIVE, newTransactionId, seedWallet, TEST_CHAIN, transferIntent, withLog } from './log.ts'
import { TAG_KEYS } from './recorded-transactions.ts'

const GWEI = 10n ** 9n
const LANE = { chainId: TEST_CHAIN, address: transferIntent().from }
const METADATA = { tenantId: 'acme', actor: 'test' }

type Asked = Parameters<Signer['signTransactions']>[0]

/** What happens while the lane works; each may be replaced at any time. */
export type Meanwhile = {
  readonly price: () => bigint
  readonly estimate: EstimateGas
  /** When the fork of the chain began. */
  readonly forkSince: string | null
  readonly neededGas: NeededGas
  /** Before bytes are signed. */
  readonly signing: (requests: Asked) => Promise<unknown>
  /** The transaction count of the account that the nodes say. */
  readonly count: number
  /** How many of a batch the signer signs. */
  readonly signedAtOnce: number
  /** Of pauses, ms. */
  readonly monotonicNow: () => number
}

export type LaneStage = {
  readonly pool: Pool
  readonly log: EventLog
  readonly meanwhile: { -readonly [Name in keyof Meanwhile]: Meanwhile[Name] }
  /** @throws HoldRefused */
  readonly accept: (overrides?: Partial<Intent>) => Promise<string>
  readonly command: (id: string, command: TransactionCommand) => Promise<unknown>
  /** Once more when something was accepted meanwhile, as its wake-up asks. */
  readonly drain: () => Promise<void>
  /** One drain by a process of an older version, which holds a lease for the lane itself. */
  readonly drainAsBefore: () => Promise<void>
  /** The ids of what the lane left alone. */
  readonly short: readonly string[]
  readonly read: (id: string) => Promise<KnownTransaction>
  readonly held: () => Promise<bigint>
}

/** @param balance of the only wallet, wei */
export async function withLane(t: Test, { balance }: { readonly balance: bigint }): Promise<LaneStage> {
  const { pool, url, log: owner, wakeUps } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance })
  const logOf = async (role: 'api' | 'signer') => {
    const login = await loginAs(t, { pool, url }, role)
    return { login, log: createEventLog({ pool: login, wakeUps, clock: Date.now }) }
  }
  const [api, signer] = [await logOf('api'), await logOf('signer')]
  const meanwhile: LaneStage['meanwhile'] = {
    price: () => 20n * GWEI,
    estimate: async (requests) => requests.map(() => ({ ok: true, gasLimit: 21_000n })),
    forkSince: null,
    neededGas: async () => null,
    signing: async () => undefined,
    signedAtOnce: Number.POSITIVE_INFINITY,
    count: 0,
    monotonicNow: () => performance.now(),
  }
  const short: string[] = []
  const lane = createLane(signer, meanwhile, short)
  let isWoken = false
  const read = async (id: string) => {
    const { state } = await owner.load(transactionAggregate, id)
    if (state.state === 'unknown') throw new Error(`${id} is unknown`)
    return state
  }
  return {
    pool,
    log: owner,
    meanwhile,
    short,
    read,
    async accept(overrides = {}) {
      const id = newTransactionId()
      const reserved = { gasLimit: 21_000n, maxFeePerGas: 40n * GWEI }
      const intent = transferIntent({ reserved, ...overrides })
      const command = { type: 'RequestTransaction', opening: 'TransferRequested', intent } as const
      const decision = decideNew(transactionAggregate, id, command, { metadata: METADATA, now: api.log.now() })
      await api.log.append({ decisions: [decision] })
      isWoken = true
      return id
    },
    command: (id, command) => api.log.execute(transactionAggregate, id, command, { metadata: METADATA }),
    async drain() {
      do {
        isWoken = false
        await lane(LANE)
      } while (isWoken)
    },
    drainAsBefore: () => lane(LANE, `sign-${laneName(LANE)}`),
    async held() {
      const { rows } = await pool.query<{ held: string }>('SELECT held FROM wallet_holds WHERE asset_id = $1', [
        NATIVE.assetId,
      ])
      return BigInt(rows[0]?.held ?? 0)
    },
  }
}

function createLane(
  { login, log }: { readonly login: Pool; readonly log: EventLog },
  meanwhile: Meanwhile,
  short: string[],
): DrainLane {
  const quote = async () => {
    const baseFeePerGas = meanwhile.price()
    const level = { maxFeePerGas: 2n * baseFeePerGas, maxPriorityFeePerGas: GWEI }
    return { baseFeePerGas, low: level, medium: level, high: level }
  }
  const ctx: LaneContext = {
    log,
    lanes: createLaneReads(login),
    check: soundOf(log),
    signer: {
      async signTransactions(wanted: Asked) {
        const requests = wanted.slice(0, meanwhile.signedAtOnce)
        await meanwhile.signing(requests)
        return requests.map(() => ({ hash: hex(32), rawTransaction: hex(100), sender: LANE.address }))
      },
    },
    clock: Date.now,
    newId: newTransactionId,
    keys: TAG_KEYS,
    config: { replaceAfterMs: 60_000, maxInFlightPerLane: 64 },
    compare: async () => ({ held: null, unclear: [], from: meanwhile.count }),
    countOf: async () => meanwhile.count,
    deferred: createDeferred(() => meanwhile.monotonicNow()),
    logger: {
      // Of what has a wallet that is too poor for another fee.
      warn(fields: object, message?: string) {
        if (message?.startsWith('cannot bump') && message.includes('balance') && 'transaction_id' in fields)
          short.push(String(fields.transaction_id))
      },
    },
    metrics: { count: () => undefined },
    leftAlone: () => undefined,
    onRefused: (id) => void short.push(id),
    onUnstorable: (id, error) => {
      throw new Error(id, { cause: error })
    },
    laneChainOf: () => ({
      settings: { network: 'ethereum', minTipWei: 1n, maxFeePerGasWei: 500n * GWEI },
      quote,
      gasRules: osakaRules,
      forkSince: async () => meanwhile.forkSince,
      estimateGas: (requests) => meanwhile.estimate(requests),
      neededGas: (transaction) => meanwhile.neededGas(transaction),
      emptyGas: async () => EMPTY_TRANSFER_GAS,
      refusedByToken: async (requests) => requests.map(() => false),
      kinds: new Map(),
      observedBlock: async () => 0,
    }),
  }
  const leases = createLeases({ pool: login, holder: 'test', leaseMs: 60_000 })
  return createDrainLane(leases, (lane, lease) => signLane(ctx, lane, lease))
}

/** Every transaction of the log may be signed with the key of the wallet. */
function soundOf(log: EventLog): CheckRecorded {
  return async (ids) =>
    (await log.loadChecked(transactionAggregate, ids)).map((loaded) => ({
      loaded,
      wallet: {
        walletId: 'wal_1',
        tenantId: 'acme',
        type: 'hd',
        network: 'ethereum',
        environment: 'mainnet',
        chainId: TEST_CHAIN,
        address: LANE.address,
        key: { kind: 'hd', tenantId: 'acme', index: 0 },
      },
      problem: null,
    }))
}

const hex = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}`
