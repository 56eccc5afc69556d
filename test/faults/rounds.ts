/**
 * `npm run faults -- --seed 1 --rounds 20`: rounds of transfers from many wallets while processes are killed, nodes
 * give false answers, chains reorganise and the database fails, each audited against the chains and the log. All
 * randomness is derived from the seed. Exit code 1 when anything was lost, duplicated or otherwise wrong.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { toQuantity } from '../../src/chain/hex.ts'
import { NETWORKS } from '../../src/core/networks.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { type Answered, makeWallets, planTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { startWorld, type World } from '../support/world.ts'
import { describeFault, type Kind, planFaults, readKinds } from './fault-plan.ts'
import { createReport, type Report } from './report.ts'
import { runRound } from './run-round.ts'

const USAGE = `usage: npm run faults -- [--seed N] [--rounds N] [--transfers N] [--wallets N] [--faults N] [--only KIND,…]
                         [--setting NAME=VALUE] [--keep]

  --seed       the first round's seed; each further round takes the next one (default: by the clock)
  --rounds     how many rounds (default 1)
  --transfers  transfers of a round (default 500)
  --wallets    wallets that send (default 20)
  --faults     faults of a round (default 12)
  --only       kinds of faults that may come: all,lies,reorg (default: every kind)
  --setting    a setting of the service, beside the sandbox's own; may come several times
  --keep       leave the directory with its logs behind, as after a round that failed
`
/** Sends all at once, or over a fraction of the time with faults. */
const SPREADS = [0, 0.3, 0.8]
const TOKENS = 0.25
/** Nodes give false answers occasionally, all the time. */
const UNREST = 0.15
const IMPATIENT = 0.03
/** anvil saves its state every 10 s: more recent state, such as a wallet's funds, is lost when it is killed. */
const REST_MS = 15_000
/** Deeper than any reorg: the wallets' funding is below. */
const GROUND_BLOCKS = 16
/** Local nodes answer quickly: a silent one is given up soon. */
const SETTINGS = { RPC_TIMEOUT_MS: '2000' }

function readArguments() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      rounds: { type: 'string', default: '1' },
      transfers: { type: 'string', default: '500' },
      wallets: { type: 'string', default: '20' },
      faults: { type: 'string', default: '12' },
      only: { type: 'string' },
      setting: { type: 'string', multiple: true, default: [] },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const numbers = [values.seed, values.rounds, values.transfers, values.wallets, values.faults].map(Number)
  if (values.help || !numbers.every((value) => Number.isInteger(value))) return null
  const [seed = 0, rounds = 1, transfers = 0, wallets = 0, faults = 0] = numbers
  const only = values.only === undefined ? undefined : readKinds(values.only)
  return { seed, rounds, transfers, wallets, faults, only, keep: values.keep, env: readSettings(values.setting) }
}

type Settings = NonNullable<ReturnType<typeof readArguments>>

function readSettings(settings: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    settings.map((setting) => [setting.slice(0, setting.indexOf('=')), setting.slice(setting.indexOf('=') + 1)]),
  )
}

async function main(): Promise<number> {
  const settings = readArguments()
  if (settings === null) {
    process.stderr.write(USAGE)
    return 2
  }
  const report = createReport(process.stdout)
  report.say(
    `seeds ${settings.seed} to ${settings.seed + settings.rounds - 1}, ${settings.transfers} transfers from ${settings.wallets} wallets each`,
  )
  const world = await startWorld({ ...SETTINGS, ...settings.env })
  let failed = true
  const end = async () => {
    if (!settings.keep && !failed) return world.close()
    await world.stop()
    report.say(`logs: ${world.service.directory}`)
  }
  process.once('SIGINT', () => void end().finally(() => process.exit(130)))
  try {
    failed = await runAll(world, settings, report)
    return report.close(world)
  } finally {
    await end()
  }
}

/** Whether anything was wrong. */
async function runAll(world: World, settings: Settings, report: Report): Promise<boolean> {
  const { service } = world
  // Half of the wallets on the first network, so that its chain's faults affect many at once.
  const networks = Array.from(
    { length: settings.wallets },
    (_, index) => NETWORKS[index % 2 === 0 ? 0 : (index >> 1) % NETWORKS.length] ?? 'ethereum',
  )
  const wallets = await makeWallets(service.api, networks)
  report.say(`waits ${REST_MS / 1_000} s, until the chains have what was paid to the wallets on disk`)
  for (const { rpc_url } of Object.values(service.state().networks))
    await callRpc(rpc_url, 'anvil_mine', [toQuantity(GROUND_BLOCKS)])
  await sleep(REST_MS)
  const answers: Answered[] = []
  let failed = false
  for (let round = 0; round < settings.rounds; round += 1) {
    const seed = settings.seed + round
    const random = createRandom(seed)
    const only: { only?: readonly Kind[] } = settings.only === undefined ? {} : { only: settings.only }
    const { faults, withinMs } = planFaults(random, { round, count: settings.faults, ...only })
    const transfers = planTransfers(random, {
      wallets,
      count: settings.transfers,
      firstNumber: answers.length,
      spreadMs: random.pick(SPREADS) * withinMs,
      tokens: TOKENS,
      impatient: IMPATIENT,
    })
    report.say(`seed ${seed}: ${faults.map(describeFault).join(', ')}`)
    const result = await runRound({
      world,
      wallets,
      transfers,
      faults,
      random,
      unrest: UNREST,
      earlier: answers,
      onProgress: report.progress,
    })
    answers.push(...result.answers)
    report.row(seed, result)
    failed ||= result.audit.problems.length > 0
  }
  return failed
}

process.exitCode = await main()
