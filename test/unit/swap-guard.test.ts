/** The call of the guard, and what whoever signs it compares with the event of the swap. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { decodeRevert } from '../../src/chain/revert-reason.ts'
import {
  decodeGuardedSwap,
  EXECUTOR_ADDRESS,
  encodeGuardedSwap,
  GUARD_ADDRESS,
  type GuardedSwap,
} from '../../src/swaps/contracts/guard.ts'
import { EXECUTOR_ABI } from '../../src/swaps/contracts/guard-artefact.ts'
import type { SwapIntent } from '../../src/swaps/part.ts'
import { swapFailure } from '../../src/swaps/swap-failure.ts'
import { swapTargetProblem } from '../../src/swaps/swap-target.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { fold, golden } from '../support/recorded-transactions.ts'

const at = (digit: string) => `0x${digit.repeat(40)}`
const [USDC, DAI, TARGET, HOLDER, THIEF] = [at('1'), at('2'), at('3'), at('4'), at('5')]
const UNTIL = '2027-01-01T00:00:00.000Z'
const SWAP: GuardedSwap = {
  sold: USDC,
  bought: DAI,
  amount: 1_000n,
  minimum: 990n,
  deadline: Date.parse(UNTIL) / 1_000,
  target: TARGET,
  spender: HOLDER,
  data: '0x12345678',
}
const SETTINGS = { venues: [], wrappedNative: at('9'), hops: [], source: { targets: [TARGET], spenders: [HOLDER] } }

/** Why a swap with this call is not signed. */
function problemOf(
  call: Partial<GuardedSwap>,
  {
    settings = SETTINGS,
    to = GUARD_ADDRESS,
    ...change
  }: Partial<Intent> & { readonly settings?: typeof SETTINGS } = {},
): string | null {
  const known = fold([golden('SwapRequested')])
  if (known.state === 'unknown') throw new Error('the swap was requested')
  const asset = (contract: string | null) => ({ assetId: '', symbol: '', decimals: 18, contract })
  const swap = { ...known.intent.swap, toAsset: asset(DAI), limit: '990', hosted: true } as SwapIntent
  const { data } = encodeGuardedSwap({ ...SWAP, ...call })
  const intent = { ...known.intent, asset: asset(USDC), amount: 1_000n, validUntil: UNTIL, swap, to, data, ...change }
  return swapTargetProblem(intent, { swaps: settings })
}

t.test('a call of the guard is read as it was made, and no other bytes are', async (t) => {
  for (const swap of [SWAP, { ...SWAP, sold: null, spender: null }, { ...SWAP, bought: null }])
    t.strictSame(decodeGuardedSwap(encodeGuardedSwap(swap).data), swap)
  t.equal(encodeGuardedSwap({ ...SWAP, sold: null }).value, 1_000n)
  t.equal(encodeGuardedSwap(SWAP).value, 0n)
  const { data } = encodeGuardedSwap(SWAP)
  for (const other of ['0x', '0x12345678', `${data}00`, data.slice(0, -2), `${data.slice(0, -2)}01`])
    t.equal(decodeGuardedSwap(other), null)
})

t.test('a swap through the guard is signed only as its event says, to contracts of the settings', async (t) => {
  t.equal(problemOf({}), null)
  const wrongs: readonly (readonly [Partial<GuardedSwap>, RegExp])[] = [
    [{ sold: THIEF }, /other assets/],
    [{ bought: THIEF }, /other assets/],
    [{ bought: null }, /other assets/],
    [{ amount: 1_001n }, /another amount/],
    [{ minimum: 989n }, /minimum/],
    [{ deadline: SWAP.deadline + 1 }, /deadline/],
    [{ target: THIEF }, /SWAP_API_TARGETS/],
    [{ spender: THIEF }, /SWAP_API_SPENDERS/],
    [{ spender: null }, /SWAP_API_SPENDERS/],
  ]
  for (const [change, said] of wrongs) t.match(problemOf(change), said)
  t.match(problemOf({}, { data: '0x12345678' }), /no swap of the guard/)
  t.match(problemOf({}, { validUntil: null }), /deadline/)
  t.match(problemOf({}, { to: TARGET }), /do not name/, 'the target itself')
  const { source: _, ...unpinned } = SETTINGS
  t.match(problemOf({}, { settings: unpinned as typeof SETTINGS }), /do not name/, 'without a hosted source')
  const venues = [{ name: 'one', kind: 'v2', router: TARGET, quoter: TARGET, tiers: [] }] as never
  t.match(problemOf({}, { to: TARGET, settings: { ...SETTINGS, venues } }), /does not call the guard/)
})

t.test('the documentation has the addresses that follow from the code', async (t) => {
  const page = readFileSync(new URL('../../docs/swap.md', import.meta.url), 'utf8')
  for (const address of [GUARD_ADDRESS, EXECUTOR_ADDRESS]) t.ok(page.includes(`| \`${address}\` |`), address)
})

t.test('what a route or a token says is quoted, and is no reason of the guard', async (t) => {
  const error = decodeRevert(
    `0x08c379a0${'20'.padStart(64, '0')}${'13'.padStart(64, '0')}${hexOf('Too little received')}`,
  )
  t.equal(error?.text, 'Too little received')
  const said = `0x08c379a0${'20'.padStart(64, '0')}${'13'.padStart(64, '0')}${hexOf('Too little received')}`
  t.equal(decodeRevert(said)?.text, 'Too little received')
  const failure = (data: string) =>
    swapFailure(
      { code: 'execution_reverted', message: decodeRevert(data)?.text ?? '' },
      { amountType: 'exact_input', router: GUARD_ADDRESS },
    )
  t.match(failure(said), { code: 'slippage_exceeded' }, 'the guard itself')
  t.match(failure(EXECUTOR_ABI.encodeErrorResult('RouteFailed', [said])), {
    code: 'execution_reverted',
    message: 'The route failed: Too little received',
  })
  t.match(failure(EXECUTOR_ABI.encodeErrorResult('TokenRefused', [USDC, '0x'])), {
    code: 'execution_reverted',
    message: `The token ${USDC} refused: without a reason.`,
  })
})

function hexOf(text: string): string {
  return Buffer.from(text).toString('hex').padEnd(64, '0')
}
