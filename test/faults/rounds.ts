/**
 * `npm run faults -- --seed 1 --rounds 20`: rounds of 1,000 transfers from 20 wallets while processes are killed, stopped
 * and started, each audited against the chains. Everything that is random follows from the seed. Ends with code 1 when
 * anything was lost, doubled or otherwise not as it must be.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { NETWORKS } from '../../src/core/networks.ts'
import { type Answered, makeWallets, planTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { startService } from '../support/service.ts'
import { describeFault, planFaults } from './fault-plan.ts'
import { createReport } from './report.ts'
import { runRound } from './run-round.ts'

const USAGE = `usage: npm run faults -- [--seed N] [--rounds N] [--transfers N] [--wallets N] [--setting NAME=VALUE] [--keep]

  --seed       the first round's seed; each further round takes the next one (default: by the clock)
  --rounds     how many rounds (default 1)
  --transfers  transfers of a round (default 1000)
  --wallets    wallets that send (default 20)
  --setting    a setting of the service, beside the sandbox's own; may come several times
  --keep       leave the directory with its logs behind, as after a round that failed
`
/** Sends all at once, or over some seconds. */
const SPREADS_MS = [0, 2_000, 6_000]
const TOKENS = 0.25
const IMPATIENT = 0.03
/** anvil writes its state every 10 s: what is younger is gone when it is killed, and a wallet's funds with it. */
const REST_MS = 15_000

function readArguments() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      rounds: { type: 'string', default: '1' },
      transfers: { type: 'string', default: '1000' },
      wallets: { type: 'string', default: '20' },
      setting: { type: 'string', multiple: true, default: [] },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const [seed, rounds, transfers, wallets] = [values.seed, values.rounds, values.transfers, values.wallets].map(Number)
  if (values.help || ![seed, rounds, transfers, wallets].every((value) => Number.isInteger(value))) return null
  return {
    seed: seed ?? 0,
    rounds: rounds ?? 1,
    transfers: transfers ?? 0,
    wallets: wallets ?? 0,
    keep: values.keep,
    env: readSettings(values.setting),
  }
}

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
  const service = await startService({ env: settings.env })
  let failed = false
  const end = async () => {
    if (settings.keep || failed) return void (await service.stop().then(() => report.say(`logs: ${service.directory}`)))
    await service.close()
  }
  process.once('SIGINT', () => void end().finally(() => process.exit(130)))
  try {
    // Half of the wallets on the first network, so that its chain's faults hit many at once.
    const networks = Array.from(
      { length: settings.wallets },
      (_, index) => NETWORKS[index % 2 === 0 ? 0 : (index >> 1) % NETWORKS.length] ?? 'ethereum',
    )
    const wallets = await makeWallets(service.api, networks)
    report.say(`waits ${REST_MS / 1_000} s, until the chains have what was paid to the wallets on disk`)
    await sleep(REST_MS)
    const answers: Answered[] = []
    for (let round = 0; round < settings.rounds; round += 1) {
      const seed = settings.seed + round
      const random = createRandom(seed)
      const faults = planFaults(random, round)
      const transfers = planTransfers(random, {
        wallets,
        count: settings.transfers,
        firstNumber: answers.length,
        spreadMs: random.pick(SPREADS_MS),
        tokens: TOKENS,
        impatient: IMPATIENT,
      })
      report.say(`seed ${seed}: ${faults.map(describeFault).join(', ')}`)
      const result = await runRound({
        service,
        wallets,
        transfers,
        faults,
        random,
        earlier: answers,
        onProgress: report.progress,
      })
      answers.push(...result.answers)
      report.row(seed, faults, result)
      failed ||= result.audit.problems.length > 0
    }
    return report.close(service.api.counts)
  } finally {
    await end()
  }
}

process.exitCode = await main()
