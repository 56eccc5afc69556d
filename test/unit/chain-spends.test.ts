/** What call data allows others to spend, against call data that ethers encodes. */
import { Interface } from 'ethers/abi'
import { id } from 'ethers/hash'
import t from 'tap'
import { spendsOf } from '../../src/chain/spends.ts'

const [OWNER, TOKEN, SPENDER, OTHER] = ['a', 'b', 'c', 'd'].map((digit) => `0x${digit.repeat(40)}`) as [
  string,
  string,
  string,
  string,
]
const MAX = (1n << 256n) - 1n
const PERMIT2_DETAILS = 'tuple(address token, uint160 amount, uint48 expiration, uint48 nonce)'
const ABI = new Interface([
  'function approve(address,uint256)',
  'function transfer(address,uint256)',
  'function increaseAllowance(address,uint256)',
  'function approveAndCall(address,uint256,bytes)',
  'function permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
  'function permit(address,address,uint256,uint256,bytes)',
  'function permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)',
  'function setApprovalForAll(address,bool)',
  'function approve(address)',
  'function approve(address,uint256,uint256)',
  'function approveDelegation(address,uint256)',
  'function authorizeOperator(address,uint256,bytes)',
  'function increaseAllowance(address,uint256,bytes)',
  'function hope(address)',
  'function allow(address,bool)',
  'function setAuthorization(address,bool)',
  'function setRelayerApproval(address,address,bool)',
  'function setAccountOperator(address,address,bool)',
  'function setPreSignature(bytes,bool)',
  'function batch(bytes[],bool)',
  'function approve(address,address,uint160,uint48)',
  `function permit(address owner, tuple(${PERMIT2_DETAILS} details, address spender, uint256 sigDeadline) single, bytes signature)`,
  `function permit(address owner, tuple(${PERMIT2_DETAILS}[] details, address spender, uint256 sigDeadline) batch, bytes signature)`,
  'function multicall(bytes[])',
  'function multicall(uint256,bytes[])',
  'function multicall(bytes32,bytes[])',
  'function aggregate(tuple(address,bytes)[])',
  'function blockAndAggregate(tuple(address,bytes)[])',
  'function tryAggregate(bool,tuple(address,bytes)[])',
  'function tryBlockAndAggregate(bool,tuple(address,bytes)[])',
  'function aggregate3(tuple(address,bool,bytes)[])',
  'function aggregate3Value(tuple(address,bool,uint256,bytes)[])',
])
const WORD32 = `0x${'11'.repeat(32)}`

const encode = (signature: string, args: readonly unknown[]) => ABI.encodeFunctionData(signature, args)
const spends = (data: string, to = TOKEN) =>
  spendsOf({ to, data }, OWNER).map(({ kind, token, spender, amount }) =>
    [kind, token?.toLowerCase(), spender?.toLowerCase(), amount].join(' '),
  )
const approve = (amount: bigint, spender = SPENDER) => encode('approve(address,uint256)', [spender, amount])

t.test('allowances, permits of the caller, operators and Permit2 are spends', async (t) => {
  const permit = '(address,address,uint256,uint256,uint8,bytes32,bytes32)'
  const dai = 'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)'
  const single = 'permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)'
  const batch = 'permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)'
  const to = `${TOKEN} ${SPENDER}`
  const cases: readonly (readonly [string, readonly unknown[], readonly string[]])[] = [
    ['approve(address,uint256)', [SPENDER, 5], [`approve ${to} 5`]],
    ['approve(address,uint256)', [SPENDER, 0], [`approve ${to} 0`]],
    ['approve(address,uint256)', [SPENDER, MAX], [`approve ${to} unlimited`]],
    ['approve(address,uint256)', [SPENDER, (1n << 96n) - 1n], [`approve ${to} unlimited`]],
    ['approve(address,uint256)', [SPENDER, 1n << 96n], [`approve ${to} ${1n << 96n}`]],
    ['approveAndCall(address,uint256,bytes)', [SPENDER, 5, '0x01'], [`approve ${to} 5`]],
    ['increaseAllowance(address,uint256)', [SPENDER, 7], [`increase_allowance ${to} 7`]],
    [`permit${permit}`, [OWNER, SPENDER, 9, 1, 27, WORD32, WORD32], [`permit ${to} 9`]],
    [`permit${permit}`, [OTHER, SPENDER, 9, 1, 27, WORD32, WORD32], []],
    ['permit(address,address,uint256,uint256,bytes)', [OWNER, SPENDER, MAX, 1, '0x'], [`permit ${to} unlimited`]],
    [dai, [OWNER, SPENDER, 0, 0, true, 27, WORD32, WORD32], [`permit ${to} unlimited`]],
    [dai, [OWNER, SPENDER, 0, 0, false, 27, WORD32, WORD32], [`permit ${to} 0`]],
    ['setApprovalForAll(address,bool)', [SPENDER, true], [`set_approval_for_all ${to} unlimited`]],
    ['setApprovalForAll(address,bool)', [SPENDER, false], [`set_approval_for_all ${to} 0`]],
    ['approve(address,address,uint160,uint48)', [OTHER, SPENDER, 3, 1], [`permit2 ${OTHER} ${SPENDER} 3`]],
    [single, [OWNER, [[OTHER, (1n << 160n) - 1n, 1, 2], SPENDER, 4], '0x'], [`permit2 ${OTHER} ${SPENDER} unlimited`]],
    [
      batch,
      [
        OWNER,
        [
          [
            [OTHER, 1, 1, 2],
            [TOKEN, 2, 1, 2],
          ],
          SPENDER,
          4,
        ],
        '0x',
      ],
      [`permit2 ${OTHER} ${SPENDER} 1`, `permit2 ${to} 2`],
    ],
    [batch, [OTHER, [[[OTHER, 1, 1, 2]], SPENDER, 4], '0x'], []],
    ['transfer(address,uint256)', [SPENDER, MAX], []],
  ]
  for (const [signature, args, expected] of cases) t.strictSame(spends(encode(signature, args)), expected, signature)
  t.strictSame(spends('0x'), [])
  t.strictSame(spends('0x095ea7b3'), [`approve ${TOKEN} 0x${'0'.repeat(40)} 0`], 'missing bytes are zeros')
  const dirty = approve(5n).replace(/^(0x.{8})0{24}/, `$1${'f'.repeat(24)}`)
  t.strictSame(spends(dirty), [`approve ${to} 5`], 'the upper bits of an address are ignored')
})

t.test('allowances under other names are spends', async (t) => {
  const to = `${TOKEN} ${SPENDER}`
  const all = [`set_approval_for_all ${to} unlimited`]
  const cases: readonly (readonly [string, readonly unknown[], readonly string[]])[] = [
    ['approve(address)', [SPENDER], all],
    ['hope(address)', [SPENDER], all],
    ['approve(address,uint256,uint256)', [SPENDER, 77, 5], [`approve ${to} 5`]],
    ['approveDelegation(address,uint256)', [SPENDER, MAX], [`approve ${to} unlimited`]],
    ['authorizeOperator(address,uint256,bytes)', [SPENDER, 6, '0x'], [`approve ${to} 6`]],
    ['increaseAllowance(address,uint256,bytes)', [SPENDER, 7, '0x'], [`increase_allowance ${to} 7`]],
    ['allow(address,bool)', [SPENDER, true], all],
    ['allow(address,bool)', [SPENDER, false], [`set_approval_for_all ${to} 0`]],
    ['setAuthorization(address,bool)', [SPENDER, true], all],
    ['setRelayerApproval(address,address,bool)', [OWNER, SPENDER, true], all],
    ['setAccountOperator(address,address,bool)', [OWNER, SPENDER, true], all],
    ['setPreSignature(bytes,bool)', ['0x1234', true], ['unreadable   unlimited']],
    ['setPreSignature(bytes,bool)', ['0x1234', false], []],
    ['batch(bytes[],bool)', [[approve(5n)], false], [`approve ${to} 5`]],
  ]
  for (const [signature, args, expected] of cases) t.strictSame(spends(encode(signature, args)), expected, signature)
  t.strictSame(spends('0x88147732'), ['unreadable   unlimited'], 'validate of Seaport')
})

t.test('multicalls are read up to three deep', async (t) => {
  const call = approve(5n)
  const own = [`approve ${TOKEN} ${SPENDER} 5`]
  const one = 'multicall(bytes[])'
  t.strictSame(spends(encode(one, [[call, encode('transfer(address,uint256)', [SPENDER, 1]), call]])), [...own, ...own])
  t.strictSame(spends(encode('multicall(uint256,bytes[])', [1, [call]])), own)
  t.strictSame(spends(encode('multicall(bytes32,bytes[])', [WORD32, [call]])), own)
  for (const name of ['aggregate', 'blockAndAggregate'])
    t.strictSame(spends(encode(name, [[[TOKEN, call]]]), OTHER), own, name)
  for (const name of ['tryAggregate', 'tryBlockAndAggregate'])
    t.strictSame(spends(encode(name, [false, [[TOKEN, call]]]), OTHER), own, name)
  t.strictSame(spends(encode('aggregate3', [[[TOKEN, true, call]]]), OTHER), own)
  t.strictSame(spends(encode('aggregate3Value', [[[TOKEN, true, 0, call]]]), OTHER), own)
  const nested = (depth: number): string => (depth === 0 ? call : encode(one, [[nested(depth - 1)]]))
  t.strictSame(spends(nested(3)), own)
  t.strictSame(spends(nested(4)), ['unreadable   unlimited'])
  t.strictSame(spends(encode(one, [Array(65).fill(call)])), [...Array(64).fill(own[0]), 'unreadable   unlimited'])
})

t.test('offsets before the list are followed, as contracts do, and those outside of the data are not', async (t) => {
  const selector = id('multicall(bytes[])').slice(0, 10)
  const word = (value: bigint) => BigInt.asUintN(256, value).toString(16).padStart(64, '0')
  const call = approve(5n).slice(2).padEnd(192, '0')
  const data = `${selector}${word(0xc0n)}${word(0x44n)}${call}${word(0n)}${word(1n)}${word(-0xc0n)}`
  t.strictSame(spends(data), [`approve ${TOKEN} ${SPENDER} 5`])
  for (const offset of [-0xe1n, 0x20n, 1n << 255n, MAX])
    t.strictSame(spends(data.slice(0, -64) + word(offset)), ['unreadable   unlimited'], String(offset))
})

t.test('128 KiB of nested multicalls take milliseconds', async (t) => {
  const word = (value: number) => value.toString(16).padStart(64, '0')
  // Every item of every list has the same offset, to a multicall that contains itself.
  const selector = id('aggregate3((address,bool,bytes)[])').slice(2, 10)
  const item = `${word(1)}${word(1)}${word(96)}`
  const attacks = [1, 32, 1_024, 4_000].map((count) => {
    const list = `${word(32)}${word(count)}${word(32 * count).repeat(count)}`
    return `0x${selector}${list}${item}${word(60_000)}${selector}${list}`.padEnd(2 + 262_144, '0')
  })
  const deep = encode('multicall(bytes[])', [Array(32).fill(encode('multicall(bytes[])', [Array(32).fill('0x')]))])
  for (const data of [...attacks, deep, `0x${selector}${'f'.repeat(262_136)}`]) {
    const start = process.cpuUsage()
    spends(data)
    const { user } = process.cpuUsage(start)
    t.ok(user < 500_000, `${user} microseconds`)
  }
})
