/** The ABI of tenants' contracts: fragments, strict values, encoding and bounded decoding. */
import { AbiCoder, Interface } from 'ethers/abi'
import t from 'tap'
import { decodeValues } from '../../src/chain/abi-decode.ts'
import { encodeValues } from '../../src/chain/abi-encode.ts'
import { decodeCallError } from '../../src/chain/abi-errors.ts'
import { parseFragment } from '../../src/chain/abi-fragment.ts'
import { decodeLog } from '../../src/chain/abi-logs.ts'
import { readArguments } from '../../src/chain/abi-values.ts'
import { ValidationFailed } from '../../src/core/errors.ts'
import { createMistakes } from '../../src/core/mistakes.ts'
import { matchExactly } from '../support/match-exactly.ts'

const ALICE = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const parse = (text: string) => parseFragment('function', text, 'abi[0]')
const word = (value: number | bigint) => value.toString(16).padStart(64, '0')

function read(signature: string, values: readonly unknown[]): readonly string[] {
  const mistakes = createMistakes()
  readArguments(parse(signature).inputs, values, ['args'], mistakes)
  try {
    mistakes.settle()
    return []
  } catch (error) {
    if (!(error instanceof ValidationFailed)) throw error
    return error.items.map(({ field, code }) => `${field} ${code}`)
  }
}

const TYPES: readonly (readonly [string, unknown])[] = [
  ['uint256', '1000000000000000000000'],
  ['int8', '-128'],
  ['bool', true],
  ['address', ALICE],
  ['bytes4', '0xdeadbeef'],
  ['bytes', `0x${'ab'.repeat(33)}`],
  ['string', 'naïve 🏦'],
  ['uint16[]', ['1', '2', '65535']],
  ['string[2]', ['', 'x'.repeat(40)]],
  ['(int64 x, string label)', ['-7', 'here']],
  ['(address who, (bytes data, uint8[3] rgb)[] parts)[]', [[ALICE, [['0x01', ['1', '2', '3']]]]]],
  [
    'uint8[2][][1]',
    [
      [
        ['1', '2'],
        ['3', '4'],
      ],
    ],
  ],
]

t.test('values are encoded and decoded as ethers does', async (t) => {
  const coder = AbiCoder.defaultAbiCoder()
  for (const chosen of [...TYPES.map((each) => [each]), TYPES]) {
    const { inputs } = parse(`function f(${chosen.map(([type]) => type).join(', ')})`)
    const types = inputs.map(({ type }) => type)
    const values = chosen.map(([, value]) => value)
    const mistakes = createMistakes()
    const encoded = encodeValues(inputs, readArguments(inputs, values, ['args'], mistakes))
    mistakes.settle()
    t.equal(`0x${encoded}`, coder.encode(types, values), types.join())
    const plain = (value: unknown): unknown => {
      if (!Array.isArray(value))
        return typeof value === 'object' && value !== null ? plain((value as { value: unknown }).value) : value
      return value.map(plain)
    }
    t.strictSame(plain(decodeValues(inputs, `0x${encoded}`)), values)
  }
})

t.test('a decoded tuple keeps the names and the order of its members', async (t) => {
  const { outputs } = parse('function f() returns ((uint8 length, uint8 a, bool a) point)')
  t.strictSame(decodeValues(outputs, `0x${word(1)}${word(2)}${word(1)}`), [
    {
      name: 'point',
      type: '(uint8,uint8,bool)',
      value: [
        { name: 'length', type: 'uint8', value: '1' },
        { name: 'a', type: 'uint8', value: '2' },
        { name: 'a', type: 'bool', value: true },
      ],
    },
  ])
})

t.test('arguments that libraries would convert are refused, each with its place', async (t) => {
  const f = 'function f((bool flag, int8 n) point, address who, bytes3[2] pair, string text)'
  const good = [{ flag: false, n: -1 }, ALICE.toLowerCase(), ['0x010203', '0x040506'], '']
  t.strictSame(read(f, good), [])
  const bad: readonly (readonly [unknown, string])[] = [
    [{ flag: 'false', n: 1 }, 'args[0].flag wrong_type'],
    [{ flag: null, n: 1 }, 'args[0].flag wrong_type'],
    [{ flag: 0, n: 1 }, 'args[0].flag wrong_type'],
    [{ flag: true, n: 1, extra: 1 }, 'args[0].extra unknown_field'],
    [{ flag: true }, 'args[0].n required'],
    [[true], 'args[0] wrong_length'],
    [{ flag: true, n: ' 12 ' }, 'args[0].n invalid_integer'],
    [{ flag: true, n: '1e2' }, 'args[0].n invalid_integer'],
    [{ flag: true, n: '0x01' }, 'args[0].n invalid_integer'],
    [{ flag: true, n: 1.5 }, 'args[0].n invalid_integer'],
    [{ flag: true, n: 2 ** 60 }, 'args[0].n unsafe_number'],
    [{ flag: true, n: 128 }, 'args[0].n out_of_range'],
    ['x', 'args[0] wrong_type'],
  ]
  for (const [value, mistake] of bad) t.strictSame(read(f, [value, ...good.slice(1)]), [mistake])
  for (const address of [
    ALICE.slice(2),
    'XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS',
    '0x12',
    5,
    ALICE.replace('f39F', 'F39f'),
  ])
    matchExactly(t, read(f, [good[0], address, good[2], '']), [/^args\[1\] /])
  matchExactly(t, read(f, [good[0], ALICE, ['0x010203'], '']), [/^args\[2\] wrong_length/])
  matchExactly(t, read(f, [good[0], ALICE, ['0x01020', '0x040506'], 7]), [
    /^args\[2\]\[0\] invalid_bytes/,
    /^args\[3\] wrong_type/,
  ])
  matchExactly(t, read(f, [good[0], ALICE, good[2], 'a\ud800']), [/^args\[3\] wrong_type/])
  matchExactly(t, read(f, []), ['args wrong_length'])
  matchExactly(t, read('function f(uint8[] list)', [Array(5_000).fill(1)]), ['args[0][4095] too_many_values'])
})

t.test('fragments that are not valid or beyond the limits are refused before they cost anything', async (t) => {
  const nested = (levels: number) => `function f(${'('.repeat(levels)}uint8 a${') b'.repeat(levels)})`
  const deepJson = (levels: number): object =>
    levels === 0 ? { name: 'a', type: 'uint8' } : { name: 'a', type: 'tuple', components: [deepJson(levels - 1)] }
  const json = (input: object) => ({ type: 'function', name: 'f', inputs: [input], outputs: [] })
  const refused: readonly unknown[] = [
    nested(9),
    nested(1_000),
    'function f(uint7 a)',
    'function f(uint8[0] a)',
    'function f(uint8[2000] a)',
    'function f(uint8[1024][1024] a)',
    'function f(tuple a)',
    'function f(() a)',
    'function f(fixed128x18 a)',
    'function f(uint8 a',
    'function f(uint8 a); drop',
    'event f(uint8 a)',
    `function f(${Array(300).fill('uint8').join()})`,
    `function f(uint8${'[]'.repeat(9)} a)`,
    'x'.repeat(10_000),
    json(deepJson(9)),
    json({ name: 'a', type: 'tuple' }),
    json({ name: 'a b', type: 'uint8' }),
    json({ name: 'a', type: 5 }),
    { name: 'f', inputs: {} },
    { inputs: [] },
    7,
    null,
    [],
  ]
  for (const source of refused)
    t.throws(() => parseFragment('function', source, 'abi[3]'), { message: /^abi\[3\] / }, String(source).slice(0, 40))
  t.equal(parse(nested(7)).inputs.length, 1)
  t.equal(parseFragment('function', json(deepJson(7)), 'abi[0]').inputs.length, 1)
  t.equal(parse('function f(uint a, address b) external payable returns (bool ok)').signature, 'f(uint256,address)')
  const old = { type: 'function', name: 'g', constant: true, inputs: [], outputs: [{ type: 'uint8' }] }
  t.equal(parseFragment('function', old, 'abi[0]').mutability, 'view')
})

t.test(
  'data of a hostile contract is decoded in the time of honest data of the same size, or not at all',
  async (t) => {
    const cpuOf = (act: () => unknown): number => {
      const before = process.cpuUsage()
      act()
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const list = parse('function f() returns (uint256[] a)').outputs
    const honest = `0x${word(32)}${word(500)}${word(1).repeat(500)}`
    matchExactly(t, decodeValues(list, honest), [{ value: { length: 500 } }])
    const best = Math.min(...Array.from({ length: 20 }, () => cpuOf(() => decodeValues(list, honest))))
    // An attack may read as many values as fit, about nine times the honest ones. Ten times that is far below a loop.
    const most = 100 * Math.max(best, 500)
    const pointers = (count: number, tail: string) =>
      `0x${word(32)}${word(count)}${word(32 * count).repeat(count)}${tail}`
    const attacks: readonly (readonly [string, string, string])[] = [
      ['a length of 4 billion', 'uint256[] a', `0x${word(32)}${word(4_000_000_000)}`],
      ['a length above every number', 'uint256[] a', `0x${word(32)}${'ff'.repeat(32)}`],
      ['an offset above every number', 'uint256[] a', `0x${'ff'.repeat(32)}`],
      ['offsets to themselves', 'uint256[][] a', `0x${word(32)}${word(9)}${word(0).repeat(8)}`],
      ['pointers to one blob', 'bytes[] a', pointers(250, word(8_000) + '00'.repeat(8_000))],
      ['pointers to one list', 'uint256[][] a', pointers(250, word(250) + word(1).repeat(250))],
      [
        'pointers to pointers',
        'uint256[][][][] a',
        pointers(120, word(120) + word(3_840).repeat(120) + word(120) + word(1).repeat(120)),
      ],
    ]
    for (const [name, type, data] of attacks) {
      const { outputs } = parse(`function f() returns (${type})`)
      let decoded: ReturnType<typeof decodeValues> = null
      const cpu = cpuOf(() => {
        decoded = decodeValues(outputs, data)
      })
      matchExactly(t, decoded, [{ name: 'a', value: null, note: 'undecodable' }], name)
      t.ok(cpu < most, `${name}: ${cpu} µs of at most ${most}`)
    }
    const parsing = cpuOf(() => t.throws(() => parse(`function f(${'('.repeat(5_000)}uint8${')'.repeat(5_000)})`)))
    t.ok(parsing < most, `a type nested 5,000 deep: ${parsing} µs of at most ${most}`)
    t.equal(decodeValues(list, `0x${word(32)}${word(1_000)}${word(1).repeat(1_000)}`), null, 'above 16 KiB')
  },
)

t.test('each value that is not valid is marked, and does not hide the others', async (t) => {
  const { outputs } = parse('function f() returns (bool a, uint8 b, address c, bytes2 d, string e, int8 f, uint256 g)')
  const text = `${word(3)}${'ff00aa'.padEnd(64, '0')}`
  const data = `0x${word(2)}${word(256)}${'01'.repeat(32)}${'aabbcc'.padEnd(64, '0')}${word(7 * 32)}${word(255)}${word(9)}${text}`
  matchExactly(
    t,
    decodeValues(outputs, data)?.map(({ name, value, note }) => [name, value, note]),
    [...['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, null, 'undecodable']), ['g', '9', undefined]],
  )
  matchExactly(
    t,
    decodeValues(outputs, '0x')?.map(({ value }) => value),
    Array(7).fill(null),
  )
})

t.test('reverts are decoded: custom errors, panics, known errors, and errors inside of errors', async (t) => {
  const abi = new Interface([
    'error Refused(address who, (int64 x, string label)[] points)',
    'error Wrapped(bytes inner)',
  ])
  const errors = abi.fragments.map((fragment) => parseFragment('error', fragment.format('full'), 'abi[0]'))
  const refused = abi.encodeErrorResult('Refused', [ALICE, [[-7, 'here']]])
  matchExactly(t, decodeCallError(refused, errors), {
    name: 'Refused',
    args: [{ name: 'who', value: ALICE }, { value: [[{ value: '-7' }, { value: 'here' }]] }],
    reason: `Refused(who: ${ALICE}, points: [[-7, here]])`,
    inner: null,
    data: refused,
  })
  const wrap = (inner: string) => abi.encodeErrorResult('Wrapped', [inner])
  const four = decodeCallError(wrap(wrap(wrap(wrap(refused)))), errors)
  t.equal(four.inner?.inner?.inner?.name, 'Wrapped')
  t.equal(four.inner?.inner?.inner?.inner, null, 'three levels')
  t.equal(decodeCallError(wrap(refused), errors).reason, `Wrapped: Refused(who: ${ALICE}, points: [[-7, here]])`)
  t.match(decodeCallError(`0x4e487b71${word(0x32)}`, []), { name: 'Panic', reason: /index out of bounds/ })
  matchExactly(t, decodeCallError(refused, []), { name: null, reason: null, args: [] })
  t.match(decodeCallError(`0xe450d38c${word(1)}${word(2)}${word(3)}`, []), { name: 'ERC20InsufficientBalance' })
  t.equal(decodeCallError(`0x${'ab'.repeat(100_000)}`, errors).data.length, 2 + 2 * 4_096)
  t.match(decodeCallError('0x', []), { name: null, data: '0x' })
})

t.test('logs are decoded by the events of the ABI, hashed values as hashes', async (t) => {
  const abi = new Interface([
    'event Counted(address indexed who, uint256 total, string note)',
    'event Noted(string indexed topic, bytes data)',
  ])
  const events = abi.fragments.map((fragment) => parseFragment('event', fragment.format('full'), 'abi[0]'))
  const log = (name: string, values: readonly unknown[]) => ({ address: ALICE, ...abi.encodeEventLog(name, values) })
  matchExactly(t, decodeLog(log('Counted', [ALICE, 7, 'x']), events), {
    name: 'Counted',
    signature: 'Counted(address,uint256,string)',
    args: [
      { name: 'who', value: ALICE },
      { name: 'total', value: '7' },
      { name: 'note', value: 'x' },
    ],
  })
  const noted = log('Noted', ['x', '0xc0ffee'])
  matchExactly(t, decodeLog(noted, events)?.args, [{ value: noted.topics[1], note: 'hash' }, { value: '0xc0ffee' }])
  t.equal(decodeLog({ ...noted, topics: noted.topics.slice(0, 1) }, events), null)
  t.equal(decodeLog({ ...noted, topics: [] }, events), null)
})
