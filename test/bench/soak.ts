/**
 * Memory of every process over many transfers at a steady rate. For each transfer a balance is read too, so that the
 * API answers two requests for each.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { untilQuiet } from './accept.ts'
import { runLoad } from './load.ts'
import { readMemory } from './process-memory.ts'
import { PARENT } from './process-trees.ts'
import type { Figure } from './report.ts'
import { authHeaders, fundedWallets, RECIPIENT, type Subject } from './subject.ts'

/** The rate is that of the requests: work that the machine cannot do in time waits. */
export type SoakSize = { readonly transfers: number; readonly perSecond: number }

const WALLETS = 20
const CONNECTIONS = 16
const SAMPLE_MS = 1_000
const SAMPLES_BETWEEN_REPORTS = 30
/** The most that a process may take, in MB. Those that are not listed have no limit. */
const LIMITS_MB: Readonly<Record<string, number>> = {
  api: 200,
  dispatcher: 120,
  signer: 120,
  submitter: 120,
  'chain-follower': 120,
  auditor: 120,
  [PARENT]: 100,
  'anvil-ethereum': 500,
}
/** The slope is in MB for this many transfers. */
const SLOPE_TRANSFERS = 10_000
const BODY = JSON.stringify({ to: RECIPIENT, amount: '0.0000001', asset: 'ETH' })

type Sample = { readonly accepted: number; readonly memory: ReadonlyMap<string, number> }

/** The peak of each process beside its limit; in the note its memory at the start, after a quarter, and so on. */
export async function benchSoak(subject: Subject, { transfers, perSecond }: SoakSize): Promise<Figure[]> {
  const wallets = await fundedWallets(subject, WALLETS)
  await untilQuiet(subject)
  const samples: Sample[] = []
  let accepted = 0
  const sample = () => samples.push({ accepted, memory: readMemory(subject.service) })
  sample()
  const headers = authHeaders(subject)
  const load = {
    url: subject.service.state().base_url,
    connections: CONNECTIONS,
    amount: transfers,
    rate: perSecond,
  }
  const done = Promise.all([
    runLoad({
      ...load,
      method: 'POST',
      headers: { ...headers, prefer: 'respond-async' },
      body: BODY,
      paths: wallets.map((wallet) => `/v1/wallets/${wallet}/transfer`),
      onAnswer: () => {
        accepted += 1
      },
    }),
    runLoad({ ...load, method: 'GET', headers, paths: wallets.map((wallet) => `/v1/wallets/${wallet}/balance`) }),
  ]).then(() => untilQuiet(subject))
  while (!(await hasEnded(done))) {
    sample()
    if (samples.length % SAMPLES_BETWEEN_REPORTS === 0) report(samples.at(-1), transfers)
  }
  sample()
  return [...(samples[0]?.memory.keys() ?? [])].map((name) => figureOf(name, samples, transfers))
}

/** After a moment. @throws the error of the work */
function hasEnded(work: Promise<void>): Promise<boolean> {
  return Promise.race([work.then(() => true), sleep(SAMPLE_MS, false)])
}

function report(sample: Sample | undefined, transfers: number): void {
  if (sample === undefined) return
  const memory = [...sample.memory].map(([name, mb]) => `${name} ${Math.round(mb)}`).join(', ')
  process.stderr.write(`  ${sample.accepted} of ${transfers} accepted; MB: ${memory}\n`)
}

function figureOf(name: string, samples: readonly Sample[], transfers: number): Figure {
  const series = samples.map(({ accepted, memory }) => [accepted, memory.get(name) ?? 0] as const)
  const after = (share: number) => series.find(([accepted]) => accepted >= share * transfers)?.[1] ?? Number.NaN
  const [start, quarter, half] = [0, 0.25, 0.5].map((share) => Math.round(after(share)))
  const end = Math.round(series.at(-1)?.[1] ?? Number.NaN)
  const slope = SLOPE_TRANSFERS * slopeOf(series.filter(([accepted]) => accepted >= transfers / 2))
  const limit = LIMITS_MB[name]
  return {
    bench: `soak: ${name}`,
    unit: 'MB',
    ours: Math.max(...series.map(([, mb]) => mb)),
    ceiling: limit ?? 0,
    ceilingIs: limit === undefined ? '' : 'the most it may take',
    isLimit: limit !== undefined,
    note: `start ${start}, quarter ${quarter}, half ${half}, end ${end}; second half ${slope.toFixed(1)} MB for ${SLOPE_TRANSFERS} transfers`,
  }
}

/** Least squares; zero without two different places. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (of: (point: readonly [number, number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [x, y] = [mean(([at]) => at), mean(([, value]) => value)]
  const spread = mean(([at]) => (at - x) ** 2)
  return spread === 0 ? 0 : mean(([at, value]) => (at - x) * (value - y)) / spread
}
