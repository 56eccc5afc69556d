/**
 * A policy with limits in ether and USDC, for the tenant and for each wallet, while processes are killed, chains reorganise, PostgreSQL
 * restarts, the clock of a second API process is set, and other versions are published: what is on chain never exceeds a limit, and every
 * request names the versions that were in force at its place in the log. `POLICY_FAULTS_SEED` repeats a run.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { formatAmount } from '../../src/core/money.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { readChain } from '../support/chain-audit-scan.ts'
import { type ApiRequest, type Client, createClient } from '../support/client.ts'
import { type Answered, type LoadWallet, makeWallets, planTransfers, sendTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import type { Service } from '../support/service.ts'
import { prepareVictim, type Victim } from '../support/victims.ts'
import { startWorld } from '../support/world.ts'
import type { Fault } from './fault-plan.ts'
import { runRound } from './run-round.ts'

const WALLETS = 6
const TRANSFERS = 90
const SPREAD_MS = 9_000
/** Longer than a run takes: all of it is in one window. */
const WINDOW_SECONDS = 86_400
/** Deeper than any reorganisation: the funds of the wallets are below. */
const GROUND_BLOCKS = '0x14'
const ETHER_TRANSFERS = 80n
const USDC_OF_WALLET = 3_500_000n
const USDC_OF_ALL = 15_500_000n

const kill = (atMs: number, ...names: string[]): Fault => ({ type: 'kill', atMs, names })
const reorg = (atMs: number, depth: number, again: boolean): Fault => {
  return { type: 'reorg', atMs, network: 'ethereum', depth, again }
}
const ROUNDS: readonly (readonly Fault[])[] = [
  [
    kill(1_500, 'api'),
    kill(3_000, 'signer'),
    reorg(4_500, 2, true),
    kill(6_000, 'submitter', 'chain-follower'),
    kill(8_000, 'dispatcher'),
  ],
  [
    kill(1_000, 'signer', 'dispatcher'),
    { type: 'restart postgres', atMs: 2_500 },
    { type: 'cut commits', atMs: 4_000, forMs: 2_000, share: 0.3 },
    kill(6_500, 'postgres'),
    // Settled transactions leave the chain, and come back.
    reorg(8_000, 5, true),
    reorg(9_500, 8, false),
  ],
]

type Asset = Readonly<Record<'asset_id' | 'network' | 'symbol', string>>
type Limits = { readonly ether: bigint; readonly assets: Readonly<Record<'ETH' | 'USDC', string>> }

function policyOf({ ether, assets }: Limits, count: number) {
  const limit = (id: string, asset_id: string, amount: string, per: 'tenant' | 'wallet') => ({
    ...{ id, effect: 'limit', limit: { asset_id, amount, window_seconds: WINDOW_SECONDS, per } },
  })
  return {
    default: 'allow',
    rules: [
      limit('ether', assets.ETH, formatAmount(ether, 18), 'tenant'),
      limit('ether-of-each', assets.ETH, formatAmount(ether / 5n, 18), 'wallet'),
      limit('usdc', assets.USDC, formatAmount(USDC_OF_ALL, 6), 'tenant'),
      limit('usdc-of-each', assets.USDC, formatAmount(USDC_OF_WALLET, 6), 'wallet'),
      { id: 'many', effect: 'limit', limit: { count, window_seconds: WINDOW_SECONDS } },
    ],
  }
}

/** A draft, its shadow, and when it knows the past, its publication. What another try has done already is no failure. */
async function publish(api: Client, policy: unknown): Promise<void> {
  const revision = (await api.insist({ path: '/v1/policies' })).body.data.draft?.revision ?? 0
  await mustSucceed(api, { method: 'PUT', path: '/v1/policies', body: { revision, policy } })
  await mustSucceed(api, { method: 'POST', path: '/v1/policies/shadow', body: { revision: revision + 1 } })
  const { shadow } = await api.until('/v1/policies', ({ shadow }) => shadow?.seeded === true)
  await mustSucceed(api, { method: 'POST', path: '/v1/policies/publish', body: { version: shadow.version } })
}

async function mustSucceed(api: Client, request: ApiRequest): Promise<void> {
  const { status, body } = await api.insist(request)
  // A try without an answer has done it.
  if (status >= 300 && body.errors?.[0]?.code !== 'policy_changed')
    throw new Error(`${request.path}: ${status} ${JSON.stringify(body)}`)
}

/** A second API process with the settings of the first one, whose clock can be set, and which can be killed. */
async function startSecond(t: Test, service: Service) {
  const { base_url, api_key, processes } = service.state()
  const pid = processes.find(({ name }) => name === 'api')?.pid
  const settings = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
  const port = String(await freePort())
  const env = {
    ...Object.fromEntries(settings.map((one) => one.split(/=(.*)/s).slice(0, 2))),
    PORT: port,
    HOST: '127.0.0.1',
  }
  const api = createClient(`http://127.0.0.1:${port}`, api_key)
  const first = createClient(base_url, api_key)
  const start = async (): Promise<Victim> => {
    const victim = prepareVictim('api', env)
    t.after(victim.kill)
    await victim.start()
    return victim
  }
  const turnOf = ({ key = '' }: ApiRequest) => (Number(/\d+$/.exec(key)?.[0] ?? 0) % 2 === 0 ? first : api)
  const both: Client = {
    ...first,
    once: (request) => turnOf(request).once(request),
    insist: (request) => turnOf(request).insist(request),
  }
  return { both, second: api, start }
}

type Second = Awaited<ReturnType<typeof startSecond>>

/**
 * It dies when its append is committed and nobody was answered; the next one has an hour too much, then three minutes too little. A round
 * whose limits leave no room for its append ends before it dies.
 */
async function trouble({ start }: Second, victim: Victim, round: Promise<unknown>, died: () => void): Promise<Victim> {
  const { armed } = victim.arm({ moment: 'after', step: 'append TransferRequested' })
  await armed
  if (!(await Promise.race([victim.ended, round.then(() => false)]))) return victim
  died()
  const next = await start()
  await next.setClock(3_600_000)
  await sleep(2_000)
  await next.setClock(-180_000)
  return next
}

async function costOfOne(service: Service, wallets: readonly LoadWallet[], answers: Answered[]): Promise<bigint> {
  const plan = { wallets, count: 1, firstNumber: 0, spreadMs: 0, tokens: 0, impatient: 0 }
  answers.push(...(await sendTransfers(service.api, planTransfers(createRandom(0), plan))))
  const text = `SELECT (data->>'amount')::numeric + (data->'reserved'->>'gasLimit')::numeric * (data->'reserved'->>'maxFeePerGas')::numeric AS cost
                  FROM events WHERE stream_id = $1 AND stream_version = 1`
  const [row] = await rowsOf<{ cost: string }>(service, text, [`transaction-${answers[0]?.transactionId}`])
  return BigInt(row?.cost ?? 0)
}

async function rowsOf<Row extends pg.QueryResultRow>(
  service: Service,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: service.state().database_url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

/** What is wrong with the versions that requests name, at their places in the log. */
async function wrongVersions(
  service: Service,
): Promise<{ readonly named: number; readonly problems: readonly string[] }> {
  type Placed = {
    stream_id: string
    type: string
    version: number | null
    active: number | null
    shadow: number | null
  }
  const rows = await rowsOf<Placed>(
    service,
    `SELECT stream_id, type, (data->>'version')::integer AS version, (data->'policy'->>'version')::integer AS active, (data->'policy'->>'shadow')::integer AS shadow
       FROM events WHERE stream_id LIKE 'policy-%' OR type = 'TransferRequested' ORDER BY position`,
  )
  let [active, shadow, named] = [0, 0, 0]
  const problems: string[] = []
  for (const row of rows) {
    if (row.type === 'PolicyShadowed') shadow = row.version ?? 0
    if (row.type === 'PolicyShadowEnded' || (row.type === 'PolicyPublished' && row.version === shadow)) shadow = 0
    if (row.type === 'PolicyPublished') active = row.version ?? 0
    if (row.type !== 'TransferRequested') continue
    named += 1
    if ((row.active ?? 0) !== active || (row.shadow ?? 0) !== shadow)
      problems.push(`${row.stream_id} names ${row.active} and ${row.shadow}, not ${active} and ${shadow}`)
  }
  return { named, problems }
}

/** What left the wallets on chain: ether with fees, and USDC of each. */
async function sumsOnChain(service: Service, wallets: readonly LoadWallet[]) {
  const url = service.state().networks.ethereum.rpc_url
  let ether = 0n
  const usdc = new Map<string, bigint>()
  for (const { hash, from, amount, token, succeeded } of await readChain(
    url,
    wallets.map(({ address }) => address),
  )) {
    if (!wallets.some(({ address }) => address.toLowerCase() === from)) continue
    const receipt = (await callRpc(url, 'eth_getTransactionReceipt', [hash])) as Record<
      'gasUsed' | 'effectiveGasPrice',
      string
    >
    ether += BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice)
    if (!succeeded) continue
    if (token === null) ether += amount
    else usdc.set(from, (usdc.get(from) ?? 0n) + amount)
  }
  return { ether, usdc }
}

t.test('limits of a policy hold on chain, whatever is killed, reorganised, restarted and published', async (t) => {
  const seed = Number(process.env.POLICY_FAULTS_SEED ?? Date.now() % 1_000_000)
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const world = await startWorld({ RPC_TIMEOUT_MS: '2000' })
  t.after(world.close)
  const { service } = world
  const wallets = await makeWallets(
    service.api,
    Array.from({ length: WALLETS }, () => 'ethereum' as const),
  )
  await callRpc(service.state().networks.ethereum.rpc_url, 'anvil_mine', [GROUND_BLOCKS])
  const answers: Answered[] = []
  const ether = ETHER_TRANSFERS * (await costOfOne(service, wallets, answers))
  const known = (await service.api.insist({ path: '/v1/assets' })).body.data.assets as readonly Asset[]
  const idOf = (symbol: string) =>
    known.find((one) => one.network === 'ethereum' && one.symbol === symbol)?.asset_id ?? `no ${symbol}`
  const assets = { ETH: idOf('ETH'), USDC: idOf('USDC') }
  const limits = { ether, assets }
  await publish(service.api, policyOf(limits, 1_000))
  const second = await startSecond(t, service)
  let victim = await second.start()
  let [deaths, versions] = [0, 1]
  const behind = { ...world, service: { ...service, api: second.both } }
  for (const [n, faults] of ROUNDS.entries()) {
    const plan = {
      wallets,
      count: TRANSFERS,
      firstNumber: answers.length,
      spreadMs: SPREAD_MS,
      tokens: 0.4,
      impatient: 0,
    }
    const publishing = (async () => {
      for (let times = 0; times < 3; times += 1) {
        versions += 1
        await publish(service.api, policyOf(limits, 1_000 + versions))
      }
    })()
    const round = runRound({
      ...{ world: behind, wallets, transfers: planTransfers(random, plan), faults, random },
      ...{ earlier: answers, provesLog: n === ROUNDS.length - 1 },
    })
    const troubling = trouble(second, victim, round, () => {
      deaths += 1
    })
    const [result, next] = await Promise.all([round, troubling, publishing])
    victim = next
    answers.push(...result.answers)
    t.strictSame(result.audit.problems, [], `round ${n + 1}: the chain, the log and what follows from it`)
    t.strictSame([result.audit.lost, result.audit.doubled], [0, 0])
    t.ok(result.hits.kills > 0 && result.hits.reorgs > 0)
  }
  const sums = await sumsOnChain(service, wallets)
  const ofAll = [...sums.usdc.values()].reduce((sum, one) => sum + one, 0n)
  t.ok(sums.ether <= ether, `${sums.ether} of ${ether} wei left`)
  t.ok(ofAll <= USDC_OF_ALL, `${ofAll} of ${USDC_OF_ALL} units of USDC left`)
  for (const [from, sum] of sums.usdc) t.ok(sum <= USDC_OF_WALLET, `${sum} of ${USDC_OF_WALLET} left ${from}`)
  const refused = answers.filter(({ code }) => code === 'policy_limit').length
  const accepted = answers.filter(({ status }) => status === 202).length
  t.ok(refused > 0 && accepted > Number(ETHER_TRANSFERS) / 2, `${accepted} accepted, ${refused} refused`)
  t.equal(accepted + refused, answers.length, 'each request was accepted, or refused by a limit')
  const { named, problems } = await wrongVersions(service)
  t.ok(named >= accepted)
  t.strictSame(problems, [], 'each request names what was in force')
  t.ok(deaths > 0, 'the second API process died between its append and its answer')
  if (!t.passing()) t.comment(service.lastWords())
})
