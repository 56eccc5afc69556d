/** What calls inside of multicalls are judged as, and call data that cannot be understood. */
import { Interface } from 'ethers/abi'
import t from 'tap'
import { decide } from '../../src/policies/decide.ts'
import { BOB, judgedCall, MALLORY, MULTICALL3, policyOf, shown, UNKNOWN, USDC } from '../support/policies.ts'

const ABI = new Interface([
  'function transfer(address,uint256)',
  'function approve(address,uint256)',
  'function multicall(bytes[])',
  'function multicall(uint256,bytes[])',
  'function aggregate(tuple(address,bytes)[])',
  'function aggregate3(tuple(address,bool,bytes)[])',
  'function aggregate3Value(tuple(address,bool,uint256,bytes)[])',
  'function tryAggregate(bool,tuple(address,bytes)[])',
])
const TOKEN = USDC.contract ?? ''
const MAX = (1n << 256n) - 1n
const encode = (name: string, args: readonly unknown[]) => ABI.encodeFunctionData(name, args)
const send = (to: string, amount: bigint) => encode('transfer', [to, amount])

t.test('calls inside of multicalls are judged each, and what is cut off may be anything', (t) => {
  const [one, two] = [send(BOB, 5n), encode('approve', [MALLORY, MAX])]
  const inner = [
    'contract_call+transfer bob - usdc 0xa9059cbb 1/usdc 5',
    'contract_call+approve * mallory usdc 0x095ea7b3 1/usdc *',
  ]
  const calls = (to: string, data: string) => shown(judgedCall(to, data))
  for (const [signature, args] of [
    ['multicall(bytes[])', [[one, two]]],
    ['multicall(uint256,bytes[])', [1n, [one, two]]],
  ] as const)
    t.strictSame(calls(TOKEN, encode(signature, args)).slice(1), inner, signature)
  const aggregated: readonly (readonly [string, readonly unknown[]])[] = [
    [
      'aggregate',
      [
        [
          [TOKEN, one],
          [TOKEN, two],
        ],
      ],
    ],
    [
      'aggregate3',
      [
        [
          [TOKEN, true, one],
          [TOKEN, false, two],
        ],
      ],
    ],
    [
      'tryAggregate',
      [
        false,
        [
          [TOKEN, one],
          [TOKEN, two],
        ],
      ],
    ],
  ]
  for (const [name, args] of aggregated) {
    const [outer, ...others] = calls(MULTICALL3, encode(name, args))
    t.match(outer, /^contract_call - - multicall3 0x\w{8} - -$/, name)
    t.strictSame(others, inner, name)
  }
  const paid = encode('aggregate3Value', [
    [
      [UNKNOWN, true, 3n, '0x'],
      [UNKNOWN, true, 4n, '0x12345678'],
    ],
  ])
  t.strictSame(shown(judgedCall(MULTICALL3, paid, { amount: 7n })), [
    `contract_call multicall3 - multicall3 ${paid.slice(0, 10)} 1/native 7`,
    'contract_call+transfer unknown - unknown - 1/native 3',
    'contract_call * - unknown 0x12345678 1/native 4',
  ])
  const nested = (depth: number): string => (depth === 0 ? one : encode('multicall(bytes[])', [[nested(depth - 1)]]))
  t.strictSame(calls(TOKEN, nested(3)).at(-1), inner[0])
  const unclear = /^contract_call\+transfer\+approve\+nft_transfer \* \* \* \* \* \*$/
  t.match(calls(TOKEN, nested(4)).at(-1), unclear, 'too deep')
  t.match(calls(TOKEN, encode('multicall(bytes[])', [Array(65).fill(one)])).at(-1), unclear, 'too many')
  t.equal(calls(TOKEN, encode('multicall(bytes[])', [Array(2_000).fill(one)])).length <= 65, true)
  t.match(
    calls(TOKEN, `${encode('multicall(bytes[])', [[one]]).slice(0, 10)}${'f'.repeat(64)}`).at(-1),
    unclear,
    'not valid',
  )
  t.end()
})

t.test('what cannot be understood matches no allow rule that names methods', (t) => {
  const all = ['contract_call', 'transfer', 'approve', 'nft_transfer'] as const
  const allow = policyOf([{ id: 'a', effect: 'allow', match: { actions: all, methods: { not_in: ['0x00000000'] } } }], {
    default: 'deny',
  })
  const outcome = (data: string) => decide(allow, judgedCall(TOKEN, data)).outcome
  t.equal(outcome(send(BOB, 5n)), 'allowed')
  t.equal(outcome('0xa9059c'), 'denied')
  t.equal(outcome(encode('multicall(bytes[])', [Array(2_000).fill('0x')])), 'denied')
  t.end()
})
