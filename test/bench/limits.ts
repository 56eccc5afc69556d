/**
 * What limits of an API key cost: acceptance over HTTP with a key that has one limit, beside one that has none. In turn, so that
 * what else the machine does meets both.
 */
import { untilQuiet } from './accept.ts'
import { type AcceptRound, acceptRound, transferPaths } from './cpu.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, fundedWallets, type Subject } from './subject.ts'

const ROUNDS = 9
const REQUESTS = 1_200
const WARM_UP = 400
const CONNECTIONS = 64
const WALLETS = 8
const AIM_PERCENT = 115
const WINDOW = { window_seconds: 86_400 }

/** What each key has. @param native the id of the native currency */
const keysOf = (native: string): Readonly<Record<string, readonly object[]>> => ({
  none: [],
  'one limit of an amount': [{ asset_id: native, amount: '1000000', ...WINDOW }],
  'requests a day': [{ requests_per_day: 1_000_000_000 }],
})

export async function benchLimits(subject: Subject): Promise<Figure[]> {
  const paths = transferPaths(await fundedWallets(subject, WALLETS))
  const { assets } = await call<{ assets: readonly { symbol: string; asset_id: string; network: string }[] }>(
    subject,
    'GET',
    '/v1/assets',
  )
  const native = assets.find(({ symbol, network }) => symbol === 'ETH' && network === 'ethereum')?.asset_id ?? ''
  const keys = new Map<string, string>()
  for (const [name, limits] of Object.entries(keysOf(native))) {
    const body = { label: name, scopes: ['transactions:write'], limits }
    keys.set(name, (await call<{ api_key: string }>(subject, 'POST', '/v1/api-keys', body)).api_key)
  }
  const rounds = new Map<string, AcceptRound[]>([...keys.keys()].map((name) => [name, []]))
  const accept = (key: string, amount: number) => {
    const headers = { ...authHeaders(subject), authorization: `Bearer ${key}` }
    return acceptRound(subject, { headers, paths }, amount, CONNECTIONS)
  }
  for (const key of keys.values()) await accept(key, WARM_UP)
  for (let round = 0; round < ROUNDS; round += 1) {
    await untilQuiet(subject)
    const order = [...keys].map((_, n, all) => all[(n + round) % all.length])
    for (const one of order) if (one !== undefined) rounds.get(one[0])?.push(await accept(one[1], REQUESTS))
  }
  await untilQuiet(subject)
  return [...keys.keys()].filter((name) => name !== 'none').map((name) => figureOf(name, rounds))
}

function figureOf(name: string, rounds: ReadonlyMap<string, readonly AcceptRound[]>): Figure {
  const [without, having] = [rounds.get('none') ?? [], rounds.get(name) ?? []]
  const ratios = (of: (round: AcceptRound) => number) => having.map((round, n) => of(round) / of(without[n] ?? round))
  const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
  const rate = median(ratios(({ perSecond }) => perSecond))
  const parts = (each: readonly AcceptRound[]) =>
    `API ${median(each.map(({ apiMs }) => apiMs)).toFixed(2)} ms, PostgreSQL ${median(each.map(({ postgresMs }) => postgresMs)).toFixed(2)} ms`
  return {
    bench: `accept, ${CONNECTIONS} at once, ${name}: CPU of the API and PostgreSQL`,
    unit: '% of that of a key without limits',
    ours: 100 * median(ratios(({ cpuMs }) => cpuMs)),
    ceiling: AIM_PERCENT,
    ceilingIs: 'the aim',
    note: `median of ${ROUNDS} pairs; ${parts(having)}; without: ${parts(without)}; ${(100 * rate).toFixed(0)} % of its rate`,
  }
}
