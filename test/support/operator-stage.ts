/** The operator commands on a real database and real queues, with a chain controlled by the test. */

import type { Pool } from 'pg'
import type { Test } from 'tap'
import type { RpcRequest, RpcResult } from '../../src/chain/json-rpc.ts'
import type { CliCommand } from '../../src/cli/command.ts'
import { EXPLAINED } from '../../src/compose/capabilities.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { newId } from '../../src/compose/new-id.ts'
import { CATALOGUE, QUEUE_LIMITS } from '../../src/declarations.ts'
import { readDatabaseFacts } from '../../src/event-log/database-facts.ts'
import { createEventLog, type EventLog } from '../../src/event-log/log.ts'
import { createJobs } from '../../src/jobs/create-jobs.ts'
import type { Jobs } from '../../src/jobs/jobs.ts'
import { findings as ofNfts } from '../../src/nft/for-operators.ts'
import { operatorCommands } from '../../src/operator/commands.ts'
import type { OperatorContext } from '../../src/operator/operator-context.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { walletWork } from '../../src/wallets/jobs.ts'
import { findings } from '../../src/webhooks/for-operators.ts'
import { webhooksCommand } from '../../src/webhooks/webhooks-command.ts'
import { type CliRun, runCommandLine } from './cli.ts'
import { seedWallet, TEST_CHAIN, transferIntent, withLog } from './log.ts'
import { oneNode } from './one-node.ts'
import { neededProcesses } from './operator-facts.ts'

const GWEI = 1_000_000_000n
export const KEY_ID = 'key_01a20050-4bd3-73e5-b514-005972d160e0'
export const REQUESTED_BY = {
  tenantId: 'acme',
  actor: `apikey:${KEY_ID}`,
  correlationId: 'req_1',
  idempotency: { key: 'invoice-1042', fingerprint: 'f' },
}
const WORKER = { tenantId: 'acme', actor: 'worker:signer', causationId: 'lane' }

export type OperatorStage = {
  readonly pool: Pool
  readonly log: EventLog
  /** The log of another connection to a database. */
  readonly logOn: (pool: Pool) => EventLog
  readonly jobs: Jobs
  readonly ports: OperatorContext
  /** The answers of the chain's node; none when `up` is false. */
  readonly node: { up: boolean; head: number; baseFee: bigint; readonly nonces: Map<string, number>; balance: bigint }
  /** Age in ms of the next records. */
  age: number
  readonly run: (line: string) => Promise<CliRun>
  /** With other parts. */
  readonly runWith: (parts: Partial<OperatorContext>, line: string) => Promise<CliRun>
  /** A wallet and lane with a new address. */
  readonly wallet: () => Promise<{ readonly walletId: string; readonly address: string }>
  /** Opens a transfer; returns its id. */
  readonly request: (
    from: { readonly walletId: string; readonly address: string },
    more?: Partial<Intent>,
  ) => Promise<string>
  readonly execute: (id: string, command: TransactionCommand) => Promise<unknown>
}

/** Everything is alive, has a leader and is up to date, and nothing is in progress. */
export async function withOperator(t: Test): Promise<OperatorStage> {
  const { pool, url, wakeUps } = await withLog(t)
  const jobs = createJobs({
    queues: QUEUE_LIMITS,
    databaseUrl: url,
    graceMs: 1_000,
    log: { info: () => undefined, warn: () => undefined },
  })
  t.after(() => jobs.close())
  const node: OperatorStage['node'] = { up: true, head: 100, baseFee: GWEI, nonces: new Map(), balance: 0n }
  const logOn: OperatorStage['logOn'] = (on) =>
    createEventLog({ pool: on, wakeUps, clock: () => Date.now() - stage.age })
  const log = logOn(pool)
  const ports: OperatorContext = {
    pool,
    log,
    jobs,
    queueBackend: 'PostgreSQL',
    // Wallets of this stage are only rows.
    findUnsound: async () => [],
    // The server of tests is not durable.
    readDatabase: async () => ({ ...(await readDatabaseFacts(pool)), weak: [] }),
    chains: [chainOf(node)],
    sources: [{ name: 'wallets', find: (before, limit) => walletWork.findQuiet(pool, before, limit) }],
    explained: EXPLAINED,
    findings: [...ofNfts, ...findings],
    parties: [1],
    config: {
      ...loadConfig({ IPFS_API_URL: 'http://127.0.0.1:5001' }),
      sweepIntervalMs: 1_000,
      rebroadcastAfterMs: 5_000,
      replaceAfterMs: 10_000,
      leaseMs: 1_000,
      maxInFlightPerLane: 8,
    },
    clock: Date.now,
  }
  const stage: OperatorStage = {
    pool,
    log,
    logOn,
    jobs,
    ports,
    node,
    age: 0,
    run: (line) => stage.runWith({}, line),
    runWith: (parts, line) => runCommandLine(commandsOf({ ...ports, ...parts }), line),
    async wallet() {
      const walletId = newId('wallet')
      const digits = walletId.replaceAll(/[^0-9a-f]/g, '').slice(-30)
      const address = `0x${'0'.repeat(40 - digits.length)}${digits}`
      await seedWallet(pool, { walletId, address, balance: 10n ** 18n })
      return { walletId, address }
    },
    async request({ walletId, address }, more = {}) {
      const id = newId('transaction')
      const requestedAt = log.now()
      const intent = transferIntent({ walletId, from: address, requestedAt, ...more })
      const command: TransactionCommand = { type: 'RequestTransaction', opening: 'TransferRequested', intent }
      await log.execute(transactionAggregate, id, command, { metadata: REQUESTED_BY })
      return id
    },
    execute: (id, command) => log.execute(transactionAggregate, id, command, { metadata: WORKER }),
  }
  // An hour ahead: they are fresh until the test ends, however slow the machine is.
  const fresh = `now() + interval '1 hour'`
  await pool.query(`INSERT INTO heartbeats SELECT name, name || ':1', ${fresh} FROM unnest($1::text[]) AS name`, [
    neededProcesses([1]),
  ])
  for (const name of ['dispatcher', 'sweeper', `follow-${TEST_CHAIN}`]) await holdLease(pool, name, 3_600_000)
  await pool.query(`INSERT INTO chain_cursors VALUES ($1, 100, '0x', 100, ${fresh})`, [TEST_CHAIN])
  return stage
}

function commandsOf(ports: OperatorContext): readonly CliCommand[] {
  const own = operatorCommands((task) => task(ports), CATALOGUE.findings).map(({ command }) => command)
  return [...own, webhooksCommand((task) => task(ports))]
}

/** Takes a lease like a process; negative: it expired that long ago. */
export async function holdLease(pool: Pool, name: string, leaseMs: number): Promise<void> {
  await pool.query('SELECT acquire_lease($1, $2, $3)', [name, 'somebody@h:1', leaseMs])
}

function chainOf(node: OperatorStage['node']): OperatorContext['chains'][number] {
  const answer = ({ method, params: [address] }: RpcRequest): RpcResult => {
    if (!node.up)
      return { ok: false, error: { kind: 'unavailable', reason: 'timeout', message: 'no response in time' } }
    const hex = (value: bigint | number) => `0x${value.toString(16)}`
    if (method === 'eth_getBlockByNumber')
      return { ok: true, value: { number: hex(node.head), baseFeePerGas: hex(node.baseFee) } }
    if (method === 'eth_getTransactionCount') return { ok: true, value: hex(node.nonces.get(String(address)) ?? 0) }
    return { ok: true, value: hex(node.balance) }
  }
  return {
    settings: {
      network: 'ethereum',
      environment: 'mainnet',
      chainId: TEST_CHAIN,
      confirmations: 2,
      maxFeePerGasWei: 500n * GWEI,
      minTipWei: 1n,
    },
    capSetting: 'ETHEREUM_MAX_FEE_PER_GAS_WEI',
    urlsSetting: 'ETHEREUM_RPC_URLS',
    relayed: null,
    client: oneNode({ batch: async (requests) => requests.map(answer) }),
  }
}

/** The command that signs a transfer. @param maxFee wei per gas */
export function signature(
  id: string,
  nonce: number,
  maxFee: bigint,
  now: string,
): Extract<TransactionCommand, { type: 'RecordSignature' }> {
  const fees = { gasLimit: 21_000n, maxFeePerGas: maxFee, maxPriorityFeePerGas: 1n }
  return {
    type: 'RecordSignature',
    signed: { nonce, hash: hashOf(id, nonce), rawTransaction: '0x02', fees, signedAt: now },
  }
}

/** A unique hash for each transaction and version. */
export function hashOf(id: string, version: number): string {
  return `0x${`${id.replaceAll(/[^0-9a-f]/g, '')}${version.toString(16).padStart(4, '0')}`.padStart(64, '0').slice(-64)}`
}
