/** What is told of one wallet in one block: each movement once from all honest sources, and nothing that one liar makes up. */
import fc from 'fast-check'
import t from 'tap'
import {
  type Movement,
  type ToldTransfer,
  type TraceOfWallet,
  toldOfWallet,
  type WalletEvidence,
} from '../../src/activity/internal/told-of-wallet.ts'

const hashOf = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const addressOf = (n: number) => `0x${n.toString(16).padStart(40, '0')}`

const wei = fc.bigInt({ min: 1n, max: 10n ** 24n })
const none = fc.constant(0n)
const movement = fc.record<Movement>({
  hash: fc.integer({ min: 1, max: 4 }).map(hashOf),
  direction: fc.constantFrom('in', 'in', 'in', 'out'),
  counterparty: fc.integer({ min: 1, max: 3 }).map(addressOf),
  amount: wei,
})
const movements = fc.array(movement, { maxLength: 6 })

/** What happened, and what a block proves of it. */
type Truth = Pick<WalletEvidence, 'values' | 'withdrawals'> & {
  readonly fees: bigint
  readonly reward: bigint
  readonly movements: readonly Movement[]
}
const truths = fc.record<Truth>({
  values: fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
  fees: fc.oneof(none, wei),
  withdrawals: fc.oneof(none, wei),
  reward: fc.oneof(none, wei),
  movements,
})

const net = (some: readonly { direction: string; amount: bigint }[]) =>
  some.reduce((sum, { direction, amount }) => (direction === 'in' ? sum + amount : sum - amount), 0n)
const changeOf = ({ values, fees, withdrawals, reward, movements: moved }: Truth) =>
  values - fees + withdrawals + reward + net(moved)
const internal = (told: readonly ToldTransfer[]) => told.filter(({ source }) => source === 'internal')
const incoming = (told: readonly ToldTransfer[]) => net(told.filter(({ direction }) => direction === 'in'))

function evidence(truth: Truth, shown: Partial<WalletEvidence> = {}): WalletEvidence {
  const { movements: _, ...plain } = truth
  return { ...plain, logs: null, traces: [], change: null, mentions: [], ...shown }
}
const proof = (truth: Truth) => ({ standing: 'proven' as const, wei: changeOf(truth) })
const quorum = (truth: Truth) => ({ standing: 'agreed' as const, wei: changeOf(truth) })
const agreed = (some: readonly Movement[]): TraceOfWallet => ({
  standing: 'agreed',
  hosts: ['a', 'b'],
  movements: some,
})
const claimed = (some: readonly Movement[], host = 'a'): TraceOfWallet => ({
  standing: 'claimed',
  hosts: [host],
  movements: some,
})
const plain: Truth = { values: 0n, fees: 0n, withdrawals: 0n, reward: 0n, movements: [] }
const paid = (n: number, amount: bigint, more: Partial<Movement> = {}): Movement => ({
  ...{ hash: hashOf(n), direction: 'in', counterparty: addressOf(9), amount },
  ...more,
})

/** Sums by transaction and direction, written down apart from the code. */
function expected(moved: readonly Movement[]): Record<string, bigint> {
  const sums: Record<string, bigint> = {}
  for (const { hash, direction, amount } of moved)
    sums[`${hash} ${direction}`] = (sums[`${hash} ${direction}`] ?? 0n) + amount
  return sums
}
const asSums = (told: readonly ToldTransfer[]) =>
  Object.fromEntries(internal(told).map(({ hash, direction, amount }) => [`${hash} ${direction}`, amount]))

t.test('each complete source tells each movement once, and all of them together no more', (t) => {
  fc.assert(
    fc.property(truths, (truth) => {
      const sources: Partial<WalletEvidence>[] = [
        { logs: truth.movements },
        { traces: [agreed(truth.movements)] },
        { logs: truth.movements, traces: [agreed(truth.movements)], change: proof(truth) },
        { traces: [agreed(truth.movements), claimed(truth.movements)], change: quorum(truth) },
      ]
      for (const shown of sources) {
        const { transfers, refuted } = toldOfWallet(evidence(truth, shown))
        t.strictSame(asSums(transfers), expected(truth.movements))
        t.strictSame(refuted, [])
      }
    }),
  )
  t.end()
})

t.test('with a balance, what is told is its change to the unit, whatever else is shown', (t) => {
  const shown = fc.record({
    logs: fc.constantFrom(true, false),
    agreed: fc.option(movements, { nil: null }),
    claims: fc.array(movements, { maxLength: 3 }),
    mentions: fc.array(fc.integer({ min: 1, max: 4 }).map(hashOf), { maxLength: 3 }),
  })
  fc.assert(
    fc.property(truths, shown, (truth, lies) => {
      const { transfers } = toldOfWallet(
        evidence(truth, {
          logs: lies.logs ? truth.movements : null,
          traces: [...(lies.agreed === null ? [] : [agreed(lies.agreed)]), ...lies.claims.map((one) => claimed(one))],
          change: proof(truth),
          mentions: lies.mentions,
        }),
      )
      t.equal(net(transfers) + truth.values - truth.fees, changeOf(truth))
      const keys = internal(transfers).map(({ hash, direction }) => `${hash} ${direction}`)
      t.equal(new Set(keys).size, keys.length, 'one for each transaction and direction')
      t.ok(transfers.every(({ amount }) => amount > 0n))
    }),
  )
  t.end()
})

t.test('one node that lies makes up no received wei: without a proof, with one, or beside an honest node', (t) => {
  fc.assert(
    fc.property(truths, movements, fc.boolean(), (truth, lie, isFirst) => {
      const alone = toldOfWallet(evidence(truth, { traces: [claimed(lie)] }))
      t.strictSame(internal(alone.transfers), [], 'a trace of one node alone tells nothing')

      for (const change of [proof(truth), quorum(truth)]) {
        const { transfers } = toldOfWallet(evidence(truth, { traces: [claimed(lie)], change }))
        const most = net(truth.movements) > 0n ? net(truth.movements) : 0n
        t.equal(incoming(internal(transfers)), most, 'no more than the balance gained')
      }

      const honest = truth.movements.filter(({ direction }) => direction === 'in')
      const oneWay = { ...truth, movements: honest }
      const two = isFirst ? [claimed(lie, 'liar'), claimed(honest)] : [claimed(honest), claimed(lie, 'liar')]
      const { transfers, refuted } = toldOfWallet(evidence(oneWay, { traces: two, change: proof(oneWay) }))
      t.equal(incoming(internal(transfers)), net(honest))
      if (net(lie) !== net(honest)) {
        t.strictSame(asSums(transfers), expected(honest), 'the honest trace counts in any place')
        t.strictSame(refuted, ['liar'])
      }
    }),
  )
  t.end()
})

t.test('what comes and goes in a trace of one node is not told: the balance is', (t) => {
  const truth = { ...plain, movements: [paid(1, 5n)] }
  const lie = [paid(1, 5n), paid(2, 1_000n), paid(2, 1_000n, { direction: 'out' })]
  const { transfers } = toldOfWallet(evidence(truth, { traces: [claimed(lie)], change: proof(truth) }))
  const told = { source: 'internal', direction: 'in', hash: null, counterparty: null, amount: 5n, attribution: 'hint' }
  t.strictSame(transfers, [told])
  t.end()
})

t.test('a proof refutes an agreed trace too; a balance that a quorum names does not', (t) => {
  const truth = { ...plain, movements: [paid(1, 5n)] }
  const lie = [paid(2, 7n)]
  const byProof = toldOfWallet(evidence(truth, { traces: [agreed(lie)], change: proof(truth) }))
  t.strictSame(asSums(byProof.transfers), { 'null in': 5n })
  t.strictSame(byProof.refuted, ['a', 'b'])
  const byQuorum = toldOfWallet(evidence(truth, { traces: [agreed(lie)], change: quorum(truth) }))
  t.strictSame(asSums(byQuorum.transfers), { [`${hashOf(2)} in`]: 7n })
  t.end()
})

t.test('the sender is told where there is one, and who answers for it', (t) => {
  const several = [paid(1, 5n), paid(1, 6n, { counterparty: addressOf(8) }), paid(2, 1n), paid(2, 2n)]
  const { transfers } = toldOfWallet(evidence(plain, { logs: several }))
  t.strictSame(
    transfers.map(({ counterparty, amount, attribution }) => ({ counterparty, amount, attribution })),
    [
      { counterparty: null, amount: 11n, attribution: 'proven' },
      { counterparty: addressOf(9), amount: 3n, attribution: 'proven' },
    ],
  )
  t.end()
})

t.test('a balance alone names the transaction if only one names the wallet', (t) => {
  const truth = { ...plain, values: 3n, fees: 1n, movements: [paid(1, 5n)] }
  const hashesWith = (mentions: readonly string[]) =>
    toldOfWallet(evidence(truth, { change: proof(truth), mentions })).transfers.map(({ hash, amount }) => [
      hash,
      amount,
    ])
  t.strictSame(hashesWith([hashOf(1)]), [[hashOf(1), 5n]])
  t.strictSame(hashesWith([hashOf(1), hashOf(2)]), [[null, 5n]])
  t.strictSame(hashesWith([]), [[null, 5n]])
  t.end()
})

t.test('withdrawals and rewards are told as what they are, and never as internal', (t) => {
  const truth = { ...plain, withdrawals: 4n, reward: 2n, movements: [paid(1, 5n)] }
  const sourcesOf = ({ transfers }: ReturnType<typeof toldOfWallet>) =>
    transfers.map(({ source, amount }) => `${source} ${amount}`)
  const all = ['withdrawal 4', 'reward 2', 'internal 5']
  t.strictSame(sourcesOf(toldOfWallet(evidence(truth, { change: proof(truth) }))), all)
  t.strictSame(sourcesOf(toldOfWallet(evidence(truth, { traces: [agreed(truth.movements)] }))), all)
  const unknown = { reward: null, change: proof(truth) }
  t.strictSame(
    sourcesOf(toldOfWallet(evidence(truth, { ...unknown, logs: truth.movements }))),
    ['withdrawal 4', 'internal 5', 'reward 2'],
    'unknown rules: what the proof leaves',
  )
  t.strictSame(sourcesOf(toldOfWallet(evidence(truth, unknown))), ['withdrawal 4'], 'neither is known: not guessed')
  t.end()
})

t.test('where what the wallet paid for gas is unknown, a balance decides nothing', (t) => {
  const truth = { ...plain, fees: 3n, movements: [paid(1, 5n)] }
  const unknown = { fees: null, change: proof(truth) }
  t.strictSame(toldOfWallet(evidence(truth, unknown)).transfers, [])
  t.strictSame(toldOfWallet(evidence(truth, { ...unknown, traces: [claimed(truth.movements)] })).transfers, [])
  const told = toldOfWallet(evidence(truth, { ...unknown, traces: [agreed(truth.movements)] })).transfers
  t.strictSame(asSums(told), { [`${hashOf(1)} in`]: 5n })
  t.end()
})
