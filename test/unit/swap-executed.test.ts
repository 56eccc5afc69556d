/** What a swap exchanged, from the logs of its receipt, and why one failed. */
import t from 'tap'
import { DEPOSIT_TOPIC, TRANSFER_TOPIC, WITHDRAWAL_TOPIC } from '../../src/chain/erc20.ts'
import { GUARD_ADDRESS } from '../../src/swaps/contracts/guard.ts'
import { executedSwap, missingOf } from '../../src/swaps/executed-swap.ts'
import { isGuessed, swapFailure, swapFailureCode } from '../../src/swaps/swap-failure.ts'
import type { RecordedLog } from '../../src/transactions/events.ts'

const at = (digit: string) => `0x${digit.repeat(40)}`
const [wallet, router, pool, usdc, weth, xyz] = [at('a'), at('b'), at('c'), at('1'), at('2'), at('3')]
const word = (value: string | bigint) => `0x${BigInt(value).toString(16).padStart(64, '0')}`
const log = (address: string, topics: readonly string[], data: bigint): RecordedLog => ({
  address,
  topics,
  data: word(data),
  logIndex: 0,
})
const transfer = (token: string, from: string, to: string, value: bigint) =>
  log(token, [TRANSFER_TOPIC, word(from), word(to)], value)
const deposit = (account: string, wad: bigint) => log(weth, [DEPOSIT_TOPIC, word(account)], wad)
const withdrawal = (account: string, wad: bigint) => log(weth, [WITHDRAWAL_TOPIC, word(account)], wad)
const asset = (contract: string | null) => ({ assetId: '', symbol: '', decimals: 18, contract })
const TERMS = { amountType: 'exact_output', fromAmount: '50', limit: '50' } as const
const executed = (from: string | null, to: string | null, entries: readonly RecordedLog[], called = router) =>
  executedSwap(
    { from: wallet, to: called, contract: from },
    { toAsset: asset(to), wrapped: weth, ...TERMS },
    { entries, cut: false },
  )

t.test('a token for a token is the net of the transfers of the wallet', async (t) => {
  const entries = [
    transfer(xyz, pool, wallet, 70n),
    transfer(usdc, wallet, pool, 100n),
    transfer(usdc, pool, wallet, 3n),
    transfer(usdc, pool, router, 9n),
  ]
  t.strictSame(executed(usdc, xyz, entries), { fromAmount: 97n, toAmount: 70n })
})

t.test('the native currency is what the router wrapped or unwrapped', async (t) => {
  const buys = [deposit(router, 50n), transfer(weth, router, pool, 50n), transfer(usdc, pool, wallet, 7n)]
  t.strictSame(executed(null, usdc, buys), { fromAmount: 50n, toAmount: 7n })
  const nested = [...buys, deposit(router, 30n), withdrawal(router, 4n)]
  t.match(
    executed(null, usdc, nested),
    { fromAmount: 50n },
    'not more than the swap could pay, whatever a token traded',
  )
  const sells = [transfer(usdc, wallet, pool, 7n), transfer(weth, pool, router, 49n), withdrawal(router, 49n)]
  t.strictSame(executed(usdc, null, sells), { fromAmount: 7n, toAmount: 49n })
  t.match(executed(usdc, null, [withdrawal(router, 900n), ...sells]), { toAmount: 49n }, 'not what a token sold before')
  t.strictSame(executed(null, usdc, [deposit(pool, 50n)]), { fromAmount: null, toAmount: null }, 'of another account')
})

t.test('without a log of the guard nothing was given', async (t) => {
  const swap = executed(null, usdc, [], GUARD_ADDRESS)
  t.strictSame(swap, { fromAmount: null, toAmount: 0n })
  t.equal(missingOf({ amountType: 'exact_input', toAmount: '9', limit: '8' }, swap), 8n, 'all of it is missing')
})

t.test('a wrap and an unwrap are one to one', async (t) => {
  t.strictSame(executed(null, weth, [deposit(wallet, 5n)], weth), { fromAmount: 5n, toAmount: 5n })
  t.strictSame(executed(weth, null, [withdrawal(wallet, 5n)], weth), { fromAmount: 5n, toAmount: 5n })
})

t.test('amounts are unknown without logs, with cut ones, and for malformed ones', async (t) => {
  const call = { from: wallet, to: router, contract: usdc }
  const swap = { toAsset: asset(xyz), wrapped: null, ...TERMS }
  const nothing = { fromAmount: null, toAmount: null }
  const entries = [transfer(usdc, wallet, pool, 1n), transfer(xyz, pool, wallet, 1n)]
  t.strictSame(executedSwap(call, swap, { entries, cut: false }), { fromAmount: 1n, toAmount: 1n })
  t.strictSame(executedSwap(call, swap, { entries, cut: true }), nothing)
  t.strictSame(executedSwap(call, swap, null), nothing)
  t.strictSame(executed(usdc, xyz, [log(usdc, [TRANSFER_TOPIC], 1n), log(xyz, [], 1n)]), nothing)
})

t.test(
  'what is missing is measured against the minimum, or the exact output, and only where it is known',
  async (t) => {
    const missing = (amountType: 'exact_input' | 'exact_output', toAmount: bigint | null) =>
      missingOf({ amountType, toAmount: '100', limit: '95' }, { fromAmount: 1n, toAmount })
    t.equal(missing('exact_input', 94n), 1n)
    t.equal(missing('exact_input', 95n), null)
    t.equal(missing('exact_output', 90n), 10n)
    t.equal(missing('exact_output', 100n), null)
    t.equal(missing('exact_input', null), null)
  },
)
const ROUTER = '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45'
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const failed = (message: string, by: object = {}) => ({ code: 'execution_reverted' as const, message, ...by })
const swapOf = (amountType: 'exact_input' | 'exact_output' = 'exact_input') => ({ amountType, router: ROUTER })
const BY_ROUTER = { revertedBy: ROUTER.toLowerCase() }
const BY_TOKEN = { revertedBy: TOKEN }

t.test('the reason of a router gives the code of the failure', async (t) => {
  const codeOf = (message: string, amountType: 'exact_input' | 'exact_output' = 'exact_input') =>
    swapFailureCode(failed(message, BY_ROUTER), swapOf(amountType))
  for (const message of [
    'Too little received',
    'Too much requested',
    'Insufficient WETH9',
    'UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT',
    'UniswapV2Router: EXCESSIVE_INPUT_AMOUNT',
  ])
    t.equal(codeOf(message), 'slippage_exceeded', message)
  for (const message of ['Transaction too old', 'UniswapV2Router: EXPIRED']) t.equal(codeOf(message), 'deadline_passed')
  for (const message of [
    'STF',
    'TransferHelper: TRANSFER_FROM_FAILED',
    'TransferHelper::transferFrom: transferFrom failed',
  ])
    t.equal(codeOf(message), 'allowance_missing', message)
  t.equal(codeOf('STF', 'exact_output'), 'slippage_exceeded', 'an exact allowance hides that the maximum was exceeded')
  t.equal(codeOf('UniswapV2: K'), 'execution_reverted')
  t.equal(swapFailureCode({ code: 'expired', message: 'STF' }, swapOf()), 'expired')
})

t.test('the words of a router mean nothing if another contract said them, and the message names it', async (t) => {
  for (const message of ['Too little received', 'Transaction too old']) {
    const fake = swapFailure(failed(message, BY_TOKEN), swapOf())
    t.equal(fake.code, 'execution_reverted')
    t.equal(fake.message, `The contract ${TOKEN}, which the router called, reverted: ${message}`)
    t.notOk(isGuessed(failed(message, BY_TOKEN), swapOf()))
    t.notOk(isGuessed(failed(message, BY_ROUTER), swapOf()))
  }
})

t.test('a code from words of which no node said who used them is a guess, and its message says so', async (t) => {
  const unknown = failed('Too little received', { revertedBy: null })
  t.match(swapFailure(unknown, swapOf()), { code: 'slippage_exceeded', message: /^Too little received \(a guess: / })
  t.ok(isGuessed(unknown, swapOf()))
  const older = failed('Too little received')
  t.equal(swapFailure(older, swapOf()).message, 'Too little received', 'what was published stays the same')
  t.ok(isGuessed(older, swapOf()))
  t.ok(isGuessed(failed('STF', BY_ROUTER), swapOf('exact_output')), 'it has several causes')
  t.ok(isGuessed(failed('STF', BY_TOKEN), swapOf()), 'a pool may have passed it on')
  t.notOk(isGuessed(failed('UniswapV2: K'), swapOf()), 'the code says no more than that it reverted')
})

t.test('a token that was not taken has several causes, and the message names them', async (t) => {
  const messageOf = (message: string, amountType: 'exact_input' | 'exact_output') =>
    swapFailure(failed(message, BY_ROUTER), swapOf(amountType)).message
  t.match(messageOf('STF', 'exact_input'), /\(STF\): its allowance or balance was changed, or the token is paused or/)
  t.match(messageOf('STF', 'exact_output'), /\(STF\): the swap costs more than its maximum, or the token is paused or/)
  t.equal(messageOf('Too little received', 'exact_input'), 'Too little received')
  const expired = { code: 'expired', message: 'STF' } as const
  t.strictSame(swapFailure(expired, swapOf()), expired)
})
