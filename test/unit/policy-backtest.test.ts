/** What a test of a policy on the past reports. */
import t from 'tap'
import { createBacktest } from '../../src/policies/backtest.ts'
import type { SentRule } from '../../src/policies/sent-policy.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ALICE, BOB, judgedOf, MALLORY, policyOf, WBTC } from '../support/policies.ts'

const RULES: readonly SentRule[] = [
  { id: 'blocked', effect: 'deny', match: { recipients: { in: [MALLORY] } } },
  {
    ...{ id: 'day', effect: 'limit', match: { recipients: { in: [BOB] } } },
    limit: { amount_usd: '10', window_seconds: 86_400 },
  },
  {
    id: 'large',
    effect: 'require_approval',
    match: { amount_usd: { gte: '100' } },
    approval: { group: 'x', quorum: 1 },
    on_unknown_price: 'require_approval',
  },
]
const FREE = { reserved: { gasLimit: 0n, maxFeePerGas: 0n } }
const usdc = (dollars: number) => BigInt(dollars) * 1_000_000n
const send = (to: string, dollars: number, hour = 0, more = {}) =>
  judgedOf('TransferRequested', { ...FREE, to, amount: usdc(dollars), requestedAt: at(hour), ...more })
const at = (hour: number) => new Date(Date.parse('2026-11-01T00:00:00.000Z') + hour * 3_600_000).toISOString()

t.test('each request is counted with its verdict and the rules that say so', (t) => {
  const backtest = createBacktest(policyOf(RULES))
  const verdicts = [
    backtest.request('tx_1', send(ALICE, 5)),
    backtest.request('tx_2', send(MALLORY, 7)),
    backtest.request('tx_3', send(BOB, 6)),
    backtest.request('tx_4', send(BOB, 5, 1)),
    backtest.request('tx_5', send(BOB, 4, 2)),
    backtest.request('tx_6', send(ALICE, 150)),
    backtest.request('tx_7', send(ALICE, 0, 3, { asset: WBTC, amount: 1n })),
    backtest.request('tx_8', send(BOB, 11, 30)),
  ]
  t.strictSame(verdicts, [
    'allowed',
    'denied',
    'allowed',
    'limited',
    'allowed',
    'needs_approval',
    'needs_approval',
    'limited',
  ])
  const tally = (requests: number, dollars: number, unpriced = 0) => ({ requests, usd: usdc(dollars), unpriced })
  const { totals, rules, largest } = backtest.result()
  t.strictSame(totals, {
    ...{ allowed: tally(3, 15), denied: tally(1, 7), limited: tally(2, 16), needs_approval: tally(2, 150, 1) },
  })
  const none = tally(0, 0)
  t.strictSame(rules, [
    { ...{ rule: 'blocked', effect: 'deny', matched: 1 }, denied: tally(1, 7), limited: none, needs_approval: none },
    { ...{ rule: 'day', effect: 'limit', matched: 4 }, denied: none, limited: tally(2, 16), needs_approval: none },
    {
      ...{ rule: 'large', effect: 'require_approval', matched: 2 },
      denied: none,
      limited: none,
      needs_approval: tally(2, 150, 1),
    },
  ])
  t.strictSame(
    largest.map(({ id, rules, usd }) => [id, rules, usd]),
    [
      ['tx_6', ['large'], usdc(150)],
      ['tx_8', ['day'], usdc(11)],
      ['tx_2', ['blocked'], usdc(7)],
      ['tx_4', ['day'], usdc(5)],
      ['tx_7', ['large'], null],
    ],
  )
  t.end()
})

t.test('an outcome gives back, and a revoked one takes again', (t) => {
  const backtest = createBacktest(policyOf([{ ...RULES[1], id: 'day' } as SentRule]))
  const paying = { reserved: { gasLimit: 1_000_000n, maxFeePerGas: 10n ** 9n } }
  const next = (id: string, dollars: number) => backtest.request(id, send(BOB, dollars, 1, id === 'tx_1' ? paying : {}))
  t.equal(next('tx_1', 7), 'allowed')
  t.equal(next('tx_2', 7), 'limited', 'a fee of 2 dollars counts')
  backtest.outcome('tx_1', 'fee')
  t.equal(next('tx_3', 8), 'limited')
  t.equal(next('tx_4', 7), 'allowed')
  backtest.outcome('tx_4', 'nothing')
  backtest.outcome('tx_1', 'nothing')
  t.equal(next('tx_5', 10), 'allowed', 'all is given back')
  backtest.outcome('tx_5', 'nothing')
  backtest.outcome('tx_1', 'all')
  t.equal(next('tx_6', 2), 'limited', 'it counts again')
  backtest.outcome('tx_2', 'all')
  t.equal(next('tx_7', 0), 'allowed', 'what was refused has no outcome')
  t.end()
})

t.test('the ten largest are kept, whatever their order', (t) => {
  const backtest = createBacktest(policyOf([], { default: 'deny' }))
  for (let n = 0; n < 40; n += 1) backtest.request(`tx_${n}`, send(ALICE, (n * 7) % 40, n))
  const { largest, rules, totals } = backtest.result()
  t.strictSame(
    largest.map(({ usd }) => usd),
    Array.from({ length: 10 }, (_, n) => usdc(39 - n)),
  )
  matchExactly(t, rules, [{ rule: null, effect: 'default', denied: { requests: 40 } }])
  t.equal(totals.denied.requests, 40)
  t.end()
})

t.test('a window has the hours of its length, and no more', (t) => {
  const backtest = createBacktest(policyOf([{ ...RULES[1], id: 'day' } as SentRule]))
  t.equal(backtest.request('tx_1', send(BOB, 10, 0)), 'allowed')
  t.equal(backtest.request('tx_2', send(BOB, 1, 24)), 'limited')
  t.equal(backtest.request('tx_3', send(BOB, 1, 24.25)), 'allowed', 'a 96th later')
  t.equal(backtest.request('tx_4', send(BOB, 1, 0)), 'limited', 'a clock that is behind sees what is later')
  t.equal(backtest.request('tx_5', send(BOB, 9, 24.25)), 'allowed')
  t.end()
})
