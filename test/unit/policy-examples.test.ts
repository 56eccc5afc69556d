/** The policies to copy of docs/policies.md: each decides as its text says. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { encodeApprove } from '../../src/chain/erc20.ts'
import { compilePolicy } from '../../src/policies/compile.ts'
import { decide } from '../../src/policies/decide.ts'
import type { Judged } from '../../src/policies/intent.ts'
import { lintPolicy, requirePublishable } from '../../src/policies/lint.ts'
import { judgedExport } from '../../src/policies/signature-intents.ts'
import type { SwapIntent } from '../../src/swaps/part.ts'
import {
  ALICE,
  BOB,
  CAROL,
  ETH,
  EXCHANGE,
  factsOf,
  judgedCall,
  judgedOf,
  MALLORY,
  openingData,
  readSent,
  USDC,
  USDT,
  WBTC,
} from '../support/policies.ts'
import { refusal } from '../support/refusal.ts'

const PAGE = readFileSync('docs/policies.md', 'utf8')
const POLICIES = new Map(
  [...PAGE.matchAll(/^### (.+)\n[^#]*?```json\n([\s\S]*?)```/gm)].map(([, title = '', text = '']) => [title, text]),
)

const transfer = (parts = {}, facts = {}) => judgedOf('TransferRequested', parts, facts)
const usdc = (dollars: number) => BigInt(dollars) * 1_000_000n
const MILLION_ETHER = 10n ** 24n
const other = { actor: 'apikey:key_other' }
const vault = '0x83F20F44975D03b1b09e64809B757c47f942BEeA'
/** `deposit(uint256,address)` and `transferOwnership(address)`. */
const [deposit, seize] = [`0x6e553f65${'0'.repeat(128)}`, `0xf2fde38b${'0'.repeat(64)}`]

const swapping: SwapIntent = {
  amountType: 'exact_input',
  toAsset: USDT,
  fromAmount: '1000000',
  toAmount: '1000000',
  limit: '995100',
  wrapped: null,
  approvalTransactionId: null,
}
const swap = (terms: Partial<SwapIntent> = {}, parts = {}) =>
  judgedOf('SwapRequested', { to: EXCHANGE, data: '0x5ae401dc', swap: { ...swapping, ...terms }, ...parts })

type Case = readonly [what: string, request: Judged, outcome: 'allowed' | 'needs_approval' | string]

const CASES: Readonly<Record<string, readonly Case[]>> = {
  'Payroll on the 25th': [
    ['USDC to an employee', transfer(), 'allowed'],
    ['in a batch', transfer({ subject: { type: 'transfer_batch', id: 'batch_1' } }), 'allowed'],
    ['before office hours in Zurich', transfer({ requestedAt: '2026-11-25T06:59:59.000Z' }), 'not_allowed'],
    ['in summer the clocks are ahead', transfer({ requestedAt: '2026-08-25T06:00:00.000Z' }), 'allowed'],
    ['the day after', transfer({ requestedAt: '2026-11-26T12:00:00.000Z' }), 'not_allowed'],
    ['to somebody else', transfer({ to: MALLORY }), 'not_allowed'],
    ['another token', transfer({ asset: USDT }), 'not_allowed'],
    ['more than the payroll', transfer({ amount: usdc(250_001) }), 'over_limit pay-roll-sum'],
    ['a call', judgedCall(USDC.contract ?? '', deposit), 'not_allowed'],
  ],
  'Hot wallets with a daily cap': [
    ['a small transfer', transfer(), 'allowed'],
    ['more dollars', transfer({ amount: usdc(5_000) }), 'over_limit hot-day'],
    ['more ether', transfer({ asset: ETH, amount: 2n * 10n ** 18n }), 'over_limit hot-hour'],
    ['from another wallet', transfer({ amount: usdc(6_000) }, { tags: ['cold'] }), 'allowed'],
    ['without a price', transfer({ asset: WBTC }), 'unknown_price hot-day'],
    ['the key itself', judgedExport(openingData(), factsOf()), 'uncounted hot-day'],
  ],
  'Only to our own wallets': [
    ['to a wallet of the tenant', transfer({ to: CAROL }), 'allowed'],
    ['to somebody else', transfer(), 'denied stay-inside'],
    ['a call that may send to anybody', judgedCall(vault, deposit), 'denied stay-inside'],
    ['an allowance', judgedCall(USDC.contract ?? '', encodeApprove(MALLORY, 1n)), 'denied stay-inside'],
    ['an export', judgedExport(openingData(), factsOf()), 'denied no-exports'],
  ],
  'Swap only stable coins, under 50 bps': [
    ['stable coins with 49 bps', swap(), 'allowed'],
    ['with 50 bps', swap({ limit: '995000' }), 'denied slippage'],
    ['with a fraction more than 49', swap({ limit: '995099' }), 'denied slippage'],
    ['an exact output', swap({ amountType: 'exact_output', limit: '1004900' }), 'allowed'],
    ['an exact output for more', swap({ amountType: 'exact_output', limit: '1005000' }), 'denied slippage'],
    ['another coin in', swap({}, { asset: ETH }), 'denied sell-stables'],
    ['another coin out', swap({ toAsset: WBTC }), 'denied buy-stables'],
    ['a transfer', transfer(), 'allowed'],
  ],
  'NFT drop': [
    ['a mint of the shop', judgedOf('MintRequested', { data: '0x12345678' }), 'allowed'],
    ['a transfer of the shop', transfer(), 'denied shop-only-mints'],
    ['a transfer of another API key', transfer({}, other), 'allowed'],
  ],
  'No unlimited allowances': [
    ['an allowance of an amount', judgedCall(USDC.contract ?? '', encodeApprove(EXCHANGE, usdc(5))), 'allowed'],
    ['without a bound', judgedCall(USDC.contract ?? '', encodeApprove(EXCHANGE, (1n << 256n) - 1n)), 'denied bounded'],
    ['for somebody else', judgedCall(USDC.contract ?? '', encodeApprove(MALLORY, 1n)), 'denied known-spenders'],
    ['a revocation', judgedCall(USDC.contract ?? '', encodeApprove(MALLORY, 0n)), 'allowed'],
  ],
  'Office hours': [
    ['at noon in New York', transfer({ requestedAt: '2026-11-25T17:00:00.000Z' }), 'allowed'],
    ['before eight', transfer({ requestedAt: '2026-11-25T12:59:59.999Z' }), 'denied at-night'],
    ['on Friday night', transfer({ requestedAt: '2026-11-28T00:00:00.000Z' }), 'denied at-night'],
    ['on Saturday', transfer({ requestedAt: '2026-11-28T17:00:00.000Z' }), 'denied at-weekends'],
    ['a machine at night', transfer({ requestedAt: '2026-11-25T06:00:00.000Z' }, other), 'allowed'],
  ],
  'A new recipient waits': [
    ['to a known recipient', transfer(), 'allowed'],
    ['to a wallet of the tenant', transfer({ to: CAROL }), 'allowed'],
    ['to a new one', transfer({ to: MALLORY }), 'needs_approval treasurers 1'],
    ['a large one', transfer({ to: MALLORY, amount: usdc(10_000) }), 'needs_approval treasurers 2'],
    ['one without a price', transfer({ asset: WBTC }), 'needs_approval treasurers 2'],
  ],
  'A daily limit for each recipient': [
    ['a little', transfer(), 'allowed'],
    ['too much', transfer({ to: BOB, amount: usdc(1_000) }), 'over_limit each-recipient'],
    ['a wallet of the tenant', transfer({ to: CAROL, amount: usdc(1_000_000) }), 'allowed'],
  ],
  'Only known contracts and functions': [
    ['a transfer', transfer({ to: MALLORY, asset: ETH, amount: MILLION_ETHER }), 'allowed'],
    ['a known function', judgedCall(vault, deposit), 'allowed'],
    ['another function', judgedCall(vault, seize), 'not_allowed'],
    ['the function elsewhere', judgedCall(ALICE, deposit), 'not_allowed'],
    ['call data that is no call', judgedCall(vault, '0x6e55'), 'not_allowed'],
    ['an allowance', judgedCall(vault, encodeApprove(MALLORY, 1n)), 'not_allowed'],
  ],
}

t.test('docs/policies.md has ten policies, and each decides as it says', async (t) => {
  t.strictSame([...POLICIES.keys()], Object.keys(CASES))
  t.equal(POLICIES.size, 10)
  for (const [title, cases] of Object.entries(CASES)) {
    const policy = readSent(JSON.parse(POLICIES.get(title) ?? ''))
    const compiled = compilePolicy(policy, 1)
    for (const [what, request, expected] of cases) {
      const { outcome, refusal, approvals } = decide(compiled, request)
      const why = refusal === null ? '' : [refusal.reason, refusal.rule].filter((part) => part !== null).join(' ')
      const asked = approvals.map(({ group, quorum }) => ` ${group} ${quorum}`).join()
      t.equal(refusal === null ? `${outcome}${asked}` : why, expected, `${title}: ${what}`)
    }
    const isDraft = policy.rules.some(({ effect }) => effect === 'require_approval')
    const codes = lintPolicy(policy).map(({ code }) => code)
    t.strictSame(codes, isDraft ? ['asks_people', 'asks_people'] : [], `${title}: nothing is suspicious`)
    t.equal(refusal(() => requirePublishable(policy))?.code, isDraft ? 'approval_unavailable' : undefined, title)
  }
})
