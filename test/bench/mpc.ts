/**
 * Cost and speed of mpc wallets: the engine alone, the parties over real channels, and transfers through the API. Each
 * with a target, or a ceiling measured in the same run.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { untilQuiet } from './accept.ts'
import { runLoad } from './load.ts'
import type { EngineCost, EngineOrder } from './mpc-engine.ts'
import { type MpcStage, openMpcStage } from './mpc-stage.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, RECIPIENT, type Subject } from './subject.ts'

const SECONDS = 10
const SIGNERS = 2
const AT_ONCE = 8
const LONE_SIGNATURES = 40
const LONE_KEYS = 4
const TRANSFERS = 400
const CONNECTIONS = 16
const WALLETS = 8
/** The pool size of the sandbox. */
const POOL = 4
/** Measured with a WebAssembly package whose licence does not allow distribution, on a similar machine. */
const TO_BEAT = { generateCpuMs: 1_060, signCpuMs: 35, signWallMs: 56, generateKb: 71, signKb: 112 } as const
const PACKAGE = 'to beat: a non-commercial package'
const KB = 1_000

export async function benchMpc(subject: Subject): Promise<Figure[]> {
  await untilPoolIsFull(subject)
  const engine = await benchEngine()
  const ceiling = engine.perSecond
  const stage = await openMpcStage()
  try {
    return [
      ...engine.figures,
      ...(await benchKeys(stage)),
      ...(await benchSignatures(stage, ceiling)),
      ...(await benchTransfers(subject, ceiling)),
    ]
  } finally {
    await stage.close()
  }
}

async function benchEngine(): Promise<{ readonly figures: Figure[]; readonly perSecond: number }> {
  tell('the engine alone')
  const [one, two] = await Promise.all([startEngine(), startEngine()])
  try {
    const generated = await order(one, { what: 'generate', seconds: SECONDS })
    const signed = await order(one, { what: 'sign', seconds: SECONDS })
    const both = await Promise.all([one, two].map((child) => order(child, { what: 'sign', seconds: SECONDS })))
    const perSecond = both.reduce((sum, cost) => sum + cost.perSecond, 0)
    const figures: Figure[] = [
      figure('key generation, engine alone', 'ms CPU a party', generated.cpuMs, TO_BEAT.generateCpuMs),
      figure('signature, engine alone', 'ms CPU a party', signed.cpuMs, TO_BEAT.signCpuMs, {
        note: `aim 25; ${perSecond.toFixed(1)} signatures/s from two processes`,
      }),
    ]
    return { figures, perSecond }
  } finally {
    for (const child of [one, two]) child.kill()
  }
}

async function benchKeys(stage: MpcStage): Promise<Figure[]> {
  tell('keys over channels')
  await stage.generate()
  await stage.costs()
  const lone = await timed(async () => {
    for (let n = 0; n < LONE_KEYS; n += 1) await stage.generate()
  })
  const costs = await stage.costs()
  const cpuMs = mean(costs.map((cost) => cost.cpuMs)) / LONE_KEYS
  const together = await timed(() => Promise.all(Array.from({ length: AT_ONCE }, () => stage.generate())))
  await stage.costs()
  // Two others take part: in each round both get a message of the same size.
  const sizes = (costs[0]?.sent ?? []).slice(0, costs[0] === undefined ? 0 : costs[0].sent.length / LONE_KEYS)
  const perPeer = sizes.filter((_, index) => index % 2 === 0).map((bytes) => (bytes / KB).toFixed(1))
  return [
    figure('key generation, party process', 'ms CPU a party', cpuMs, TO_BEAT.generateCpuMs),
    {
      bench: 'key generation, 1 at once',
      unit: 'ms',
      ours: lone / LONE_KEYS,
      ceiling: together / AT_ONCE,
      ceilingIs: `each of ${AT_ONCE} at once`,
      note: `${AT_ONCE} at once: all after ${Math.round(together)} ms`,
    },
    figure('key generation, largest message', 'kB', Math.max(0, ...sizes) / KB, TO_BEAT.generateKb, {
      note: `${perPeer.join(' + ')} kB to each other party; to beat 71 + 32`,
    }),
  ]
}

async function benchSignatures(stage: MpcStage, ceiling: number): Promise<Figure[]> {
  tell('signatures over channels')
  const key = await stage.generate()
  await stage.sign(key, LONE_SIGNATURES)
  await stage.costs()
  const walls: number[] = []
  for (let n = 0; n < LONE_SIGNATURES; n += 1) walls.push(await timed(() => stage.sign(key, 1)))
  const sent = (await stage.costs()).flatMap((cost) => cost.sent)
  const eight: number[] = []
  for (let n = 0; n < LONE_SIGNATURES / 4; n += 1) eight.push(await timed(() => stage.sign(key, AT_ONCE)))
  await stage.costs()
  let count = 0
  const elapsedMs = await timed(async () => {
    for (const end = performance.now() + SECONDS * 1_000; performance.now() < end; count += 64)
      await stage.sign(key, 64)
  })
  const busy = await stage.costs()
  const cpuMs = busy.reduce((sum, cost) => sum + cost.cpuMs, 0) / count / SIGNERS
  const directionKb = sent.reduce((sum, bytes) => sum + bytes, 0) / LONE_SIGNATURES / SIGNERS / KB
  const messages = [...new Set(sent)].toSorted((a, b) => b - a).map((bytes) => (bytes / KB).toFixed(1))
  return [
    figure('signature, party process', 'ms CPU a party', cpuMs, TO_BEAT.signCpuMs, { note: 'aim 25' }),
    figure('signature, 1 at once', 'ms', median(walls), TO_BEAT.signWallMs, { note: 'to beat 56 to 79; median' }),
    {
      bench: `signatures, ${AT_ONCE} at once`,
      unit: 'ms',
      ours: median(eight),
      ceiling: (1_000 * AT_ONCE) / ceiling,
      ceilingIs: 'the engine alone, two processes',
      note: 'until all are there; median',
    },
    figure('signature, bytes in a direction', 'kB', directionKb, TO_BEAT.signKb, {
      note: `messages of ${messages.join(', ')} kB; the smallest goes to the finisher alone`,
    }),
    {
      bench: 'signatures over channels',
      unit: '/s',
      ours: (1_000 * count) / elapsedMs,
      ceiling,
      ceilingIs: 'the engine alone, two processes',
    },
  ]
}

async function benchTransfers(subject: Subject, ceiling: number): Promise<Figure[]> {
  const wallets = await fundedMpcWallets(subject)
  const figures: Figure[] = []
  await signThroughBursar(subject, wallets, AT_ONCE * CONNECTIONS)
  for (const count of [1, WALLETS]) {
    tell(`transfers from ${count}`)
    const perSecond = await signThroughBursar(subject, wallets.slice(0, count), TRANSFERS)
    figures.push({
      bench: `mpc end to end, ${TRANSFERS} from ${count} ${count === 1 ? 'wallet' : 'wallets'}`,
      unit: '/s',
      ours: perSecond,
      ceiling,
      ceilingIs: 'the engine alone, two processes',
      note: 'POST until signed; aim 25',
    })
  }
  return figures
}

/** Signed transfers per second, from the first request until the last signature is in the log. */
async function signThroughBursar(subject: Subject, wallets: readonly string[], transfers: number): Promise<number> {
  await untilQuiet(subject)
  const { base_url: url, database_url: connectionString } = subject.service.state()
  const pool = new pg.Pool({ connectionString, max: 1 })
  const signed = async () => Number((await pool.query<{ n: string }>(SIGNED)).rows[0]?.n)
  const before = await signed()
  const elapsedMs = await timed(async () => {
    await runLoad({
      url,
      method: 'POST',
      headers: { ...authHeaders(subject), prefer: 'respond-async' },
      body: JSON.stringify({ to: RECIPIENT, amount: '0.0000001', asset: 'ETH' }),
      paths: wallets.map((wallet) => `/v1/wallets/${wallet}/transfer`),
      connections: CONNECTIONS,
      amount: transfers,
    })
    while ((await signed()) - before < transfers) await sleep(50)
  })
  await pool.end()
  return (1_000 * transfers) / elapsedMs
}

const SIGNED = `SELECT count(*) AS n FROM events WHERE type = 'TransactionSigned'`

/** Funded mpc wallets on ethereum, and a full pool of keys: keys made later would take CPU time in the measurement. */
export async function fundedMpcWallets(subject: Subject): Promise<string[]> {
  tell(`${WALLETS} wallets of type mpc`)
  const wallets: string[] = []
  for (let n = 0; n < WALLETS; n += 1) {
    const body = { type: 'mpc', network: 'ethereum', label: 'bench' }
    const { api } = subject.service
    const { wallet_id: id, address } = await api.settle(await api.post('/v1/wallets/create', body))
    await call(subject, 'POST', '/v1/sandbox/faucet', { address, network: 'ethereum', amount: '1000' })
    wallets.push(id)
  }
  await untilPoolIsFull(subject)
  return wallets
}

/** Creating keys for the pool would take CPU time during the measurement. */
async function untilPoolIsFull({ service }: Subject): Promise<void> {
  for (;;) {
    const response = await fetch(`${service.state().base_url}/metrics`)
    const [, size = '0'] = /^bursar_mpc_pool_keys\S* (\d+)$/m.exec(await response.text()) ?? []
    if (Number(size) >= POOL) return
    await sleep(500)
  }
}

async function startEngine(): Promise<ChildProcess> {
  const entry = fileURLToPath(new URL('mpc-engine.ts', import.meta.url))
  const child = fork(entry, { execArgv: ['--import', 'tsx'] })
  await once(child, 'message')
  return child
}

async function order(child: ChildProcess, wanted: EngineOrder): Promise<EngineCost> {
  child.send(wanted)
  const [cost] = (await once(child, 'message')) as [EngineCost]
  return cost
}

function figure(bench: string, unit: string, ours: number, ceiling: number, more: { note?: string } = {}): Figure {
  return { bench, unit, ours, ceiling, ceilingIs: PACKAGE, ...more }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function tell(step: string): void {
  process.stderr.write(`  ${step}\n`)
}
