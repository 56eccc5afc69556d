/** What a request for a swap asks before it is accepted, and in which order. */
import t from 'tap'
import { Unavailable } from '../../src/core/errors.ts'
import { quoteIdOf, type SwapQuote } from '../../src/swaps/quote.ts'
import { requestSwap, type SwapContext } from '../../src/swaps/request-swap.ts'
import { oneNode } from '../support/one-node.ts'

const TOKEN = '0x1111111111111111111111111111111111111111'
const OTHER = '0x2222222222222222222222222222222222222222'
const ROUTER = '0x4444444444444444444444444444444444444444'
const WALLET = '0x5555555555555555555555555555555555555555'

const VENUE = { name: 'two', kind: 'v2', router: ROUTER, quoter: ROUTER, tiers: [] } as const

const CONTENT: Omit<SwapQuote, 'quoteId'> = {
  tenantId: 'acme',
  walletId: 'wal_1',
  network: 'ethereum',
  chainId: 1,
  fromAsset: { assetId: 'one', symbol: 'ONE', decimals: 18, contract: TOKEN },
  toAsset: { assetId: 'two', symbol: 'TWO', decimals: 18, contract: OTHER },
  terms: { amountType: 'exact_input', slippageBps: 50, maxPriceImpactBps: 300, deadlineSeconds: 600 },
  route: {
    type: 'pools',
    venue: 'two',
    router: { kind: 'v2', address: ROUTER },
    amountType: 'exact_input',
    native: null,
    legs: [
      {
        kind: 'v2',
        hops: [{ from: TOKEN, to: OTHER, pool: WALLET, feePpm: 3_000 }],
        amountIn: '100',
        amountOut: '90',
        limit: '89',
      },
    ],
  },
  priceImpactBps: 0,
  lpFeeBps: 30,
  valueDifferenceBps: null,
  approval: { needed: false, spender: ROUTER, amount: '100', resetFirst: false },
  gas: { approval: '0', swap: '100000' },
  gasPrice: { expected: '1', max: '2' },
  issues: { allowance: null, balance: null, simulation: null, priceImpact: null, price: null },
  block: { number: 1, hash: `0x${'11'.repeat(32)}` },
  quotedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2026-01-01T00:00:30.000Z',
  salt: '1',
}
const QUOTE: SwapQuote = { ...CONTENT, quoteId: quoteIdOf(CONTENT) }

function unused(): never {
  throw new Error('this port is not asked')
}

/** A wallet with an earlier swap of the same allowance, which ends when the chain is asked. */
function contextOf(asked: string[], isOpen: boolean): SwapContext {
  let open = isOpen
  const batch = async () => {
    asked.push('chain')
    open = false
    throw new Unavailable('rpc_unavailable', 'No node answers.')
  }
  const query = async ({ name }: { readonly name: string }) => {
    if (name === 'read_swap_quote') return { rows: [{ quote: QUOTE }] }
    if (name !== 'last_swap') return unused()
    asked.push('order')
    return { rows: [{ swap_id: 'swap_1', sequence: 1, is_open: open }] }
  }
  const sender = { type: 'hd', network: 'ethereum', environment: 'mainnet', chainId: 1, address: WALLET } as const
  return {
    accept: (_metadata, attempt) => attempt(unused, unused),
    clock: () => Date.parse(QUOTE.quotedAt),
    chainOf: () => ({
      foreign: oneNode({ batch }),
      settings: { swaps: { venues: [VENUE], wrappedNative: OTHER, hops: [] } },
    }),
    findSender: async (_owner, walletId) => ({ ...sender, walletId }),
    pool: { query } as never,
    config: { signWaitMs: 0 },
    transactions: { readById: unused, readBatch: unused, untilSigned: unused, untilMined: unused } as never,
    readSpent: unused,
    newestBlockMs: unused,
    keepQuote: unused,
    quoteSwap: unused,
    limitsOf: unused,
    usdPriceOf: unused,
    judgeTransaction: unused,
    isJudged: unused,
    quoteOf: unused,
    gasRules: unused,
    completionMs: unused,
    log: { now: unused },
    newId: unused,
  }
}

t.test('the order of an allowance is read before the allowance, which a swap that ends meanwhile uses', async (t) => {
  const request = (asked: string[], isOpen: boolean) =>
    requestSwap(
      contextOf(asked, isOpen),
      {
        walletId: 'wal_1',
        quote: { quoteId: QUOTE.quoteId },
        gasPriority: 'medium',
        referenceId: null,
        memo: null,
        validUntil: null,
      },
      { tenantId: 'acme', actor: 'test' },
      'mainnet',
    )
  const early: string[] = []
  await t.rejects(request(early, true), { code: 'swap_in_progress', details: { swap_id: 'swap_1' } })
  t.strictSame(early, ['order'], 'what the open swap may use is not looked at')
  const late: string[] = []
  await t.rejects(request(late, false), { code: 'rpc_unavailable' })
  t.strictSame(late, ['order', 'chain'])
})

t.test('a quote of an exchange that is not configured any more is not used', async (t) => {
  const swaps = { venues: [{ ...VENUE, router: OTHER }], wrappedNative: OTHER, hops: [] }
  const ctx = { ...contextOf([], false), chainOf: () => ({ foreign: oneNode({ batch: unused }), settings: { swaps } }) }
  const order = {
    walletId: 'wal_1',
    quote: { quoteId: QUOTE.quoteId },
    gasPriority: 'medium',
    referenceId: null,
    memo: null,
    validUntil: null,
  } as const
  await t.rejects(requestSwap(ctx, order, { tenantId: 'acme', actor: 'test' }, 'mainnet'), {
    code: 'quote_expired',
    message: /not configured any more/,
  })
})
