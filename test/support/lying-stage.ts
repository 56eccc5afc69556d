/**
 * The service on several nodes of which a minority lies: one trial requests payments of many kinds while lies are told, and
 * judges by the honest chain alone what was paid, what was told and how long it took.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { createHonestBlocks, type Held, type HonestBlocks } from './honest-blocks.ts'
import { liesOfChains } from './lies-of-chains.ts'
import { liesOfMethods, type Targets } from './lies-of-methods.ts'
import type { LoadWallet } from './load.ts'
import { untilSettled } from './load-settle.ts'
import { auditLog } from './log-audit.ts'
import { judgePaid, play, type Requests } from './lying-load.ts'
import { type Lie, type LyingProxies, withLyingProxies } from './lying-proxies.ts'
import { type PointsStage, withPointsStage } from './points-stage.ts'
import { reorganise } from './reorganise.ts'
import { auditFeed, auditTold, endOfLog } from './told-audit.ts'
import type { ProcessKind } from './victims.ts'

export type Trial = {
  readonly lies: readonly Lie[]
  /** After this everybody is honest again; missing: only once everything has settled. */
  readonly forMs?: number
  /** Blocks that leave the honest chain meanwhile. */
  readonly reorg?: number
  /** Killed with SIGKILL meanwhile, and started again. */
  readonly kill?: ProcessKind
  /** With swaps and mints. */
  readonly isFull?: boolean
}

export type Outcome = {
  /** False answers, by method. */
  readonly told: ReadonlyMap<string, number>
  readonly settledMs: number
  /** Everything that was requested had settled before the lies ended. */
  readonly settledMeanwhile: boolean
  /** Only after the minutes for which a lane waits for a count that nothing explains; the clock was put ahead by them. */
  readonly isDoubted: boolean
  /** Requests that were refused. */
  readonly refused: number
  /** What must never be: by kind, as text. */
  readonly harms: readonly string[]
}

export type LyingStage = {
  readonly lies: readonly Lie[]
  readonly proxies: LyingProxies
  readonly run: (trial: Trial) => Promise<Outcome>
}

const BLOCK_MS = 150
const REORG_AFTER_MS = 900
const KILL_AFTER_MS = 500
/** A lie that is told for ever delays by less than this. */
const MEANWHILE_MS = 15_000
/** A little longer than a lane waits. */
const DOUBT_MS = 11 * 60_000
const AFTERWARDS_MS = 40_000
/** A tip that is this many times the largest one without lies was paid because of a lie. */
const DEAR = 3n

/** Shorter waits, as the nodes are near. */
const QUICK = { RPC_TIMEOUT_MS: '1000', ETHEREUM_CONFIRMATIONS: '2' }

/** Every lie there is. */
export function liesAbout(targets: Targets, chainId: number): readonly Lie[] {
  return [...liesOfMethods(targets), ...liesOfChains(targets, chainId)]
}

export async function withLyingStage(t: Test, nodes: number, liars: number): Promise<LyingStage> {
  const proxies = await withLyingProxies(t, nodes, liars)
  const points = await withPointsStage(t, { nodes: proxies.before, env: QUICK })
  const [equal] = (await points.service.makeWallets(1)) as [LoadWallet]
  await points.settle()
  const wallets = [...points.wallets, points.issuer, points.trader.wallet, equal]
  const token = await tokenOf(points)
  const holdings: Held[] = wallets.flatMap(({ address }) => [
    { address, token: null },
    { address, token },
  ])
  const honest = createHonestBlocks(points.url, holdings)
  await honest.record()
  const targets = { ours: wallets.map(({ address }) => address.toLowerCase()), token }
  const chainId = Number(await points.rpc('eth_chainId'))
  const parts: Parts = { points, proxies, honest, holdings, wallets, equal, accepted: { equal: 0 }, tips: { most: 0n } }
  return {
    proxies,
    lies: liesAbout(targets, chainId),
    run: (trial) => runTrial(parts, trial),
  }
}

type Parts = Requests & {
  readonly proxies: LyingProxies
  readonly honest: HonestBlocks
  readonly tips: { most: bigint }
}

async function tokenOf({ service: { pool } }: PointsStage): Promise<string> {
  const { rows } = await pool.query<{ token: string }>(
    `SELECT substring(asset_id from 'erc20:(0x[0-9a-fA-F]+)$') AS token FROM balances
      WHERE asset_id LIKE '%erc20%' AND balance > 0 LIMIT 1`,
  )
  return rows[0]?.token ?? ''
}

async function runTrial(parts: Parts, trial: Trial): Promise<Outcome> {
  const { points, proxies, honest } = parts
  const { pool } = points.service
  const after = await endOfLog(pool)
  const [known] = (await pool.query<{ id: string }>(LAST_ID)).rows
  const restart = await armKill(points, trial.kill)
  await proxies.lie(trial.lies)
  const startedAt = Date.now()
  const miner = startMiner(points, honest)
  const told = new Map<string, number>()
  const beHonest = async () => {
    for (const [method, times] of proxies.told) told.set(method, Math.max(times, told.get(method) ?? 0))
    await proxies.lie([])
  }
  const playing = play(parts, trial.isFull ?? false)
  const striking = Promise.all([
    strikeReorg(trial, miner, points),
    sleep(KILL_AFTER_MS).then(restart),
    trial.forMs === undefined ? null : sleep(trial.forMs).then(beHonest),
  ])
  const isOver = (limitMs: number) => settles(points, Promise.all([playing, striking]), limitMs)
  const soon = await isOver(MEANWHILE_MS)
  const settledMeanwhile = soon || (trial.forMs === undefined && (await afterDoubt(() => isOver(MEANWHILE_MS))))
  await beHonest()
  const isSettled = settledMeanwhile || (await isOver(AFTERWARDS_MS))
  const settledMs = Date.now() - startedAt
  await miner.stop()
  await honest.record()
  const harms = await judge(parts, { after, known: known?.id ?? null, isSettled, hasLies: trial.lies.length > 0 })
  const refused = isSettled ? (await playing).refused : 0
  return { told, settledMs, settledMeanwhile, isDoubted: settledMeanwhile && !soon, refused, harms }
}

/** The id of the newest event of the feed, whose form is `evt_<stream>.<version>`. */
const LAST_ID = `SELECT 'evt_' || stream_id || '.' || stream_version AS id FROM events
  WHERE type = 'TransactionConfirmed' ORDER BY position DESC LIMIT 1`

/** What follows happens some minutes later, by the clock that counts how long nodes are doubted. */
async function afterDoubt<Result>(act: () => Promise<Result>): Promise<Result> {
  const real = performance.now
  performance.now = () => real.call(performance) + DOUBT_MS
  return act()
}

/** @returns what kills the process and starts it again */
async function armKill(points: PointsStage, kind: ProcessKind | undefined): Promise<() => Promise<void>> {
  if (kind === undefined) return async () => undefined
  const victim = points.prepare(kind)
  await points.stop(kind)
  await victim.start()
  return async () => {
    victim.kill()
    await victim.ended
    await points.start(kind)
  }
}

async function strikeReorg({ reorg }: Trial, miner: Miner, { url }: PointsStage): Promise<void> {
  if (reorg === undefined) return
  await sleep(REORG_AFTER_MS)
  await miner.between(() => reorganise(url, { depth: reorg, again: false }))
}

type Miner = {
  /** Does something to the chain between two blocks. */
  readonly between: (act: () => Promise<void>) => Promise<void>
  readonly stop: () => Promise<void>
}

/** Mines by the clock, and remembers every block. */
function startMiner({ rpc }: PointsStage, honest: HonestBlocks): Miner {
  let isOver = false
  let acts: (() => Promise<void>)[] = []
  const mining = (async () => {
    while (!isOver) {
      await rpc('evm_mine')
      await honest.record()
      for (const act of acts.splice(0)) await act()
      await honest.record()
      await sleep(BLOCK_MS)
    }
  })()
  return {
    between: (act) =>
      new Promise((resolve, reject) => {
        acts = [...acts, () => act().then(resolve, reject)]
      }),
    async stop() {
      isOver = true
      await mining
    },
  }
}

/** Whether everything that was requested settles in this time. */
async function settles(points: PointsStage, requested: Promise<unknown>, limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs
  const isLate = sleep(limitMs, true, { ref: false })
  if ((await Promise.race([requested.then(() => false), isLate])) === true) return false
  const late = new Error('too late')
  try {
    await untilSettled(
      () => points.service.places,
      () => {
        if (Date.now() > deadline) throw late
      },
    )
    return true
  } catch (error) {
    if (error === late) return false
    throw error
  }
}

type Judged = {
  readonly after: string
  readonly known: string | null
  readonly isSettled: boolean
  readonly hasLies: boolean
}

async function judge(parts: Parts, { after, known, isSettled, hasLies }: Judged): Promise<string[]> {
  const { points, honest, wallets } = parts
  const { pool, places } = points.service
  const { told, revoked, nonces } = await auditTold({ pool, honest, wallets }, after)
  const feed = await auditFeed(points.api, honest, known)
  const paid = isSettled ? await judgePaid(parts) : ['something never settles']
  const log = isSettled ? await auditLog(places.database_url) : { problems: [] }
  const as = (kind: string, problems: readonly string[]) => problems.map((problem) => `${kind}: ${problem}`)
  return [
    ...as('paid', paid),
    ...as('told', [...told, ...feed.problems]),
    ...as('revoked', revoked),
    ...as('nonce', nonces),
    ...as('fees', judgeTips(parts, hasLies)),
    ...as('log', log.problems),
  ]
}

/** Without lies the tips are remembered; with lies no transaction of ours pays far more. */
function judgeTips({ honest, wallets, tips }: Parts, hasLies: boolean): string[] {
  const ours = new Set(wallets.map(({ address }) => address.toLowerCase()))
  const sent = [...honest.ever.values()]
    .flatMap(({ transactions }) => [...transactions.values()])
    .filter(({ from, maxPriorityFeePerGas }) => ours.has(String(from)) && maxPriorityFeePerGas !== undefined)
  const tipOf = (value: unknown) => BigInt(String(value))
  if (!hasLies) {
    for (const { maxPriorityFeePerGas: tip } of sent) if (tipOf(tip) > tips.most) tips.most = tipOf(tip)
    return []
  }
  const dear = sent.filter(({ maxPriorityFeePerGas: tip }) => tipOf(tip) > DEAR * tips.most)
  return dear.map(({ hash, maxPriorityFeePerGas: tip }) => `${hash} tips ${tipOf(tip)}, and not ${tips.most}`)
}
