/**
 * `npm run bench [-- NAME …] [--json FILE] [--profile] [--transfers N] [--rate N] [--events N]`: prints figures with
 * ceilings measured in the same run, and fails when a limit is exceeded. Without names, all except `audit` and `growth`,
 * which create a log of a million events, `scale`, and `soak`, which takes half an hour. `--profile` also prints CPU by
 * function, and slows the run; the number of transfers and their rate per second are those of `soak`, the number of
 * events that of `growth`, `feed` and `feed-filters`.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startTestRedis } from '../support/redis.ts'
import { apiMemoryMb, benchAccept, benchStatus } from './accept.ts'
import { benchApiKeys } from './api-keys.ts'
import { benchAudit } from './audit.ts'
import { benchClosed, benchClosedMpc, benchClosedRedis } from './closed.ts'
import { benchCpu, benchCpuMpc, benchRest } from './cpu.ts'
import { benchEndToEnd } from './end-to-end.ts'
import { benchFeed } from './feed.ts'
import { benchFilters } from './feed-filters.ts'
import { benchFollow } from './follow.ts'
import { benchGrowth } from './grow.ts'
import { benchLimits } from './limits.ts'
import { benchMpc } from './mpc.ts'
import { benchNft } from './nft.ts'
import { benchPolicies } from './policies.ts'
import { benchPolicyAccept } from './policy-accept.ts'
import { profileTable, profiling } from './profile.ts'
import { benchProof } from './proof.ts'
import { benchRecovery } from './recovery.ts'
import { benchReplay } from './replay.ts'
import { brokenLimits, type Figure, makeReport, toTable } from './report.ts'
import { benchScale } from './scale.ts'
import { benchSoak } from './soak.ts'
import { type Subject, startSubject } from './subject.ts'
import { benchSwap } from './swap.ts'
import { benchWebhooks } from './webhooks.ts'

/** Benchmarks that run only when they are named. */
const LONG: readonly string[] = ['audit', 'growth', 'scale', 'soak']
const MEMORY_LIMIT_MB = 250
const GROWTH_EVENTS = 1_000_000
const FEED_EVENTS = 100_000
/**
 * Benchmarks with their own sandbox, and its settings: api-keys leaves many keys behind, mpc has parties, closed and cpu
 * restart the database, feed, feed-filters, follow and growth leave many wallets behind, feed has many streams with one
 * key, limits and policy-accept send more than a tenant may in a second, rest needs a quiet service, scale has more processes than the sandbox has connections for, soak measures memory
 * from the start, swap asks more quotes than a tenant may, webhooks has transfers with and without them.
 */
const ALONE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'api-keys': { RATE_LIMIT_PER_SECOND: '0' },
  closed: {},
  'closed-mpc': { MPC_PARTIES: '3' },
  'closed-redis': {},
  cpu: {},
  'cpu-mpc': { MPC_PARTIES: '3' },
  feed: { MAX_EVENT_STREAMS_PER_KEY: '1000', QUOTA_BYTES_PER_SECOND: '0', RECONCILE_INTERVAL_MS: '86400000' },
  'feed-filters': { QUOTA_BYTES_PER_SECOND: '0', RECONCILE_INTERVAL_MS: '86400000' },
  follow: {},
  limits: { RATE_LIMIT_PER_SECOND: '0' },
  growth: { RECONCILE_INTERVAL_MS: '86400000' },
  mpc: { MPC_PARTIES: '3' },
  'policy-accept': { RATE_LIMIT_PER_SECOND: '0' },
  rest: {},
  scale: { DATABASE_POOL_SIZE: '6' },
  soak: {},
  swap: { QUOTA_QUOTES_PER_SECOND: '10000', QUOTA_CALLS_PER_SECOND: '10000' },
  webhooks: { RECONCILE_INTERVAL_MS: '86400000' },
}

const BENCHES: Readonly<Record<string, (subject: Subject) => Promise<Figure[]>>> = {
  accept: benchAccept,
  status: benchStatus,
  'end-to-end': benchEndToEnd,
  'api-keys': benchApiKeys,
  limits: benchLimits,
  closed: benchClosed,
  'closed-redis': benchClosedRedis,
  'closed-mpc': benchClosedMpc,
  cpu: benchCpu,
  'cpu-mpc': benchCpuMpc,
  rest: benchRest,
  follow: benchFollow,
  feed: (subject) => benchFeed(subject, Number(values.events ?? FEED_EVENTS)),
  'feed-filters': (subject) => benchFilters(subject, Number(values.events ?? FEED_EVENTS)),
  nft: benchNft,
  mpc: benchMpc,
  swap: benchSwap,
  webhooks: benchWebhooks,
  replay: benchReplay,
  memory: async (subject) => [
    {
      bench: 'memory of the API after the above',
      unit: 'MB',
      ours: apiMemoryMb(subject),
      ceiling: MEMORY_LIMIT_MB,
      ceilingIs: 'the most it may take',
    },
  ],
  recovery: benchRecovery,
  scale: benchScale,
  soak: (subject) => benchSoak(subject, { transfers: Number(values.transfers), perSecond: Number(values.rate) }),
  audit: benchAudit,
  growth: (subject) => benchGrowth(subject, Number(values.events ?? GROWTH_EVENTS)),
  proof: benchProof,
  policies: benchPolicies,
  'policy-accept': benchPolicyAccept,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string' },
    profile: { type: 'boolean', default: false },
    transfers: { type: 'string', default: '200000' },
    rate: { type: 'string', default: '100' },
    events: { type: 'string' },
  },
})
const unknown = positionals.find((name) => !(name in BENCHES))
if (unknown !== undefined) {
  process.stderr.write(`no such bench: ${unknown}. There are: ${Object.keys(BENCHES).join(', ')}\n`)
  process.exit(2)
}
const names = positionals.length > 0 ? positionals : Object.keys(BENCHES).filter((name) => !LONG.includes(name))
const together = names.filter((name) => !(name in ALONE))
const figures = await measure(together)
for (const name of names) if (name in ALONE) figures.push(...(await measure([name], ALONE[name])))
const report = makeReport(figures)
process.stdout.write(`${toTable(report)}\n`)
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`)
else process.stdout.write(`${JSON.stringify(report)}\n`)
for (const line of brokenLimits(figures)) {
  process.stderr.write(`limit exceeded: ${line}\n`)
  process.exitCode = 1
}

/** In one sandbox, one after the other. Without mpc there are no parties, since keys for the pool take CPU time. */
async function measure(names: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Figure[]> {
  if (names.length === 0) return []
  const profiles = values.profile ? await mkdtemp(join(tmpdir(), 'bursar-profiles-')) : null
  const redis = names.includes('closed-redis') ? await startTestRedis() : null
  if (names.includes('closed-redis') && redis === null) return []
  const queues = redis === null ? {} : { REDIS_URL: redis.url }
  const subject = await startSubject({ ...env, ...queues, ...(profiles === null ? {} : profiling(profiles)) })
  const { processes } = subject.service.state()
  const measured: Figure[] = []
  try {
    for (const name of names) {
      process.stderr.write(`${name} …\n`)
      measured.push(...((await BENCHES[name]?.(subject)) ?? []))
    }
  } finally {
    await subject.close()
    await redis?.close()
  }
  if (profiles !== null) {
    process.stdout.write(`${await profileTable(profiles, processes)}\n\n`)
    await rm(profiles, { recursive: true })
  }
  return measured
}
