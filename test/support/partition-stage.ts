/** One database, one node and the service, whose signers and submitters are separate processes that the test ends. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from './anvil.ts'
import { auditChain } from './chain-audit.ts'
import { type Answered, type LoadWallet, planTransfers, sendTransfers } from './load.ts'
import { createRandom } from './load-random.ts'
import { mineUntilSettled } from './load-settle.ts'
import { matchExactly } from './match-exactly.ts'
import { withDatabase } from './postgres.ts'
import { eventually } from './sandbox-eventually.ts'
import { type LocalService, withLocalService } from './service-local.ts'
import { prepareVictim, type Victim } from './victims.ts'

export type HolderKind = 'signer' | 'submitter'

export type PartitionStage = {
  readonly service: LocalService
  readonly databaseUrl: string
  readonly wallets: readonly LoadWallet[]
  /** The partitions of the wallets. */
  readonly partitions: readonly string[]
  readonly start: (kind: HolderKind) => Promise<Victim>
  /** Takes the leases of all partitions from their holders. Returns their number. */
  readonly takeLeases: () => Promise<number>
  /** How many partitions each process holds now, by its id. */
  readonly heldBy: (kind: HolderKind) => Promise<ReadonlyMap<number, number>>
  /** One transfer of each wallet. */
  readonly sendEach: () => Promise<void>
  /** Sends, and mines, until `end` is called. */
  readonly keepSending: () => { readonly end: () => Promise<void> }
  /** Mines until nothing is in progress, and requires that each transfer is on chain once. */
  readonly mustBeWhole: (t: Test) => Promise<void>
}

const CHAIN_ID = 1000001
const PACE_MS = 30
const LEASES = { signer: 'sign', submitter: 'submit' } as const

/** @param wallets more than there are partitions, so that most partitions have some */
export async function withPartitionStage(
  t: Test,
  {
    wallets: count,
    env,
    databaseUrl = null,
  }: {
    readonly wallets: number
    readonly env: Readonly<Record<string, string>>
    /** By default a new one of the shared server. */
    readonly databaseUrl?: string | null
  },
): Promise<PartitionStage> {
  return stageOn(t, databaseUrl ?? (await withDatabase(t)).url, count, env)
}

async function stageOn(
  t: Test,
  databaseUrl: string,
  count: number,
  env: Readonly<Record<string, string>>,
): Promise<PartitionStage> {
  const { url: chainUrl } = await withAnvil(t, { chainId: CHAIN_ID, mining: 'call' })
  const service = await withLocalService(t, { databaseUrl, chainUrl, chainId: CHAIN_ID, env })
  service.pool.on('error', () => undefined) // A test may end the connections.
  const wallets = await service.makeWallets(count)
  for (const kind of ['signer', 'submitter'] as const) await service.stopWorker(kind)
  const random = createRandom(1)
  const answers: Answered[] = []
  let asked = 0
  const mine = () => callRpc(chainUrl, 'evm_mine')

  async function send(some: readonly LoadWallet[]): Promise<void> {
    const plan = { wallets: some, count: some.length, spreadMs: 0, tokens: 0, impatient: 0 }
    const transfers = planTransfers(random, { ...plan, firstNumber: asked })
    asked += some.length
    await sendTransfers(service.api, transfers, (answered) => void answers.push(answered))
  }

  return {
    service,
    databaseUrl,
    wallets,
    partitions: [...new Set(wallets.map(({ address }) => address.charAt(2).toLowerCase()))],
    async start(kind) {
      const victim = prepareVictim(kind, service.env)
      t.after(victim.kill)
      await victim.start()
      return victim
    },
    async takeLeases() {
      const { rowCount } = await service.pool.query(
        "SELECT release_lease(name, fence, true) FROM leases WHERE name ~ '^(sign|submit)-[0-9a-f]$' AND holder IS NOT NULL",
      )
      return rowCount ?? 0
    },
    async heldBy(kind) {
      const { rows } = await service.pool.query<{ pid: number; n: number }>(
        `SELECT substring(holder FROM '[0-9]+$')::integer AS pid, count(*)::integer AS n FROM leases
          WHERE name ~ ('^' || $1 || '-[0-9a-f]$') AND holder IS NOT NULL AND expires_at > clock_timestamp() GROUP BY 1`,
        [LEASES[kind]],
      )
      return new Map(rows.map(({ pid, n }) => [pid, n]))
    },
    sendEach: () => send(wallets),
    keepSending() {
      let isOver = false
      const sending = (async () => {
        const sent: Promise<void>[] = []
        for (let n = 0; !isOver; n += 1) {
          sent.push(send(wallets.slice(n % count, (n % count) + 1)))
          if (n % 10 === 0) await mine()
          await sleep(PACE_MS)
        }
        await Promise.all(sent)
      })()
      return {
        async end() {
          isOver = true
          await sending
        },
      }
    },
    async mustBeWhole(t) {
      await mineUntilSettled(() => service.places, chainUrl)
      matchExactly(
        t,
        await auditChain({ places: service.places, wallets, answers }),
        { problems: [], accepted: answers.length, once: answers.length, lost: 0, doubled: 0 },
        `each of ${answers.length} transfers is on chain once`,
      )
    },
  }
}

/** Waits until a process holds as many partitions. */
export function untilHolds(
  { heldBy }: PartitionStage,
  kind: HolderKind,
  { pid }: Pick<Victim, 'pid'>,
  least: number,
): Promise<true> {
  return eventually(async () => ((await heldBy(kind)).get(pid) ?? 0) >= least)
}
