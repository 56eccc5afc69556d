/** From a block, its traces and its balances to what is told of a wallet: logs, traces and balances lead to the same deposits. */
import fc from 'fast-check'
import t from 'tap'
import { type BlockSources, evidenceInBlock, movedAddresses } from '../../src/activity/internal/evidence-in-block.ts'
import { toldOfWallet } from '../../src/activity/internal/told-of-wallet.ts'
import type { TracedMove } from '../../src/chain/block-trace.ts'
import type { Block, BlockTransaction, ChainLogEntry } from '../../src/chain/blocks.ts'
import { TRANSFER_TOPIC } from '../../src/chain/erc20.ts'
import { NATIVE_LOG_ADDRESS } from '../../src/chain/native-logs.ts'

const addressOf = (n: number) => `0x${n.toString(16).padStart(40, 'a')}`
const hashOf = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const word = (hex: string) => `0x${hex.replace('0x', '').padStart(64, '0')}`
const [WALLET, MINER, CREATED] = [addressOf(1), addressOf(7), addressOf(8)] as [string, string, string]
const BASE_FEE = 3n

type Sent = Pick<BlockTransaction, 'from' | 'to' | 'value' | 'status' | 'effectiveGasPrice'> & {
  /** What its code moves. */
  readonly moves: readonly (readonly [from: string, to: string, amount: bigint])[]
}
const account = fc.integer({ min: 1, max: 5 }).map(addressOf)
const amount = fc.bigInt({ min: 0n, max: 1_000n })
const sent = fc.record<Sent>({
  from: account,
  to: fc.oneof(account, fc.constant(null)),
  value: amount,
  status: fc.constantFrom('success', 'success', 'reverted'),
  effectiveGasPrice: fc.bigInt({ min: BASE_FEE, max: 9n }),
  moves: fc.array(fc.tuple(account, account, amount), { maxLength: 5 }),
})
const withdrawals = fc.array(fc.record({ address: fc.constantFrom(WALLET, addressOf(2)), amount }), { maxLength: 3 })

/** As a node that executes the block: what code moves, and the balance of every account. */
function execute(all: readonly Sent[], logsNative: boolean, income: Block['income']) {
  const changes = new Map<string, bigint>()
  const add = (address: string, wei: bigint) => changes.set(address, (changes.get(address) ?? 0n) + wei)
  const moves: TracedMove[] = []
  const transactions = all.map((one, n): BlockTransaction => {
    const hash = hashOf(n + 1)
    const isDone = one.status === 'success'
    const own = { hash, from: one.from, to: one.to ?? CREATED, amount: one.value }
    const inner = isDone ? one.moves.map(([from, to, wei]) => ({ hash, from, to, amount: wei })) : []
    const isReal = (move: TracedMove) => move.amount > 0n && move.from !== move.to
    const top = isDone && isReal(own) ? [own] : []
    for (const move of [...top, ...inner]) {
      add(move.from, -move.amount)
      add(move.to, move.amount)
    }
    add(one.from, -10n * one.effectiveGasPrice)
    add(MINER, 10n * (one.effectiveGasPrice - BASE_FEE))
    moves.push(...(one.to === null ? top : []), ...inner.filter(isReal))
    const logs = logsNative ? [...top, ...inner.filter(isReal)].map(nativeLog) : []
    const { from, to, value, status, effectiveGasPrice } = one
    return {
      ...{ hash, from, to, value, status, effectiveGasPrice, gasUsed: 10n, logs, nonce: 0, input: '0x', offer: null },
      ...{ authorizations: [], hasBlobs: false },
    }
  })
  for (const one of income?.withdrawals ?? []) add(one.address, one.amount)
  const place = { number: 9, hash: hashOf(900), parentHash: hashOf(899), timestamp: 1, baseFeePerGas: BASE_FEE }
  return { block: { ...place, income, transactions }, moves, changes }
}

function nativeLog({ from, to, amount: wei }: TracedMove, logIndex: number): ChainLogEntry {
  const topics = [TRANSFER_TOPIC, word(from), word(to)]
  return { address: NATIVE_LOG_ADDRESS, topics, data: word(wei.toString(16)), logIndex }
}

const told = (sources: BlockSources, address: string) => {
  const evidence = evidenceInBlock(sources, [address]).get(address)
  if (evidence === undefined) throw new Error('each address has its evidence')
  return toldOfWallet(evidence)
}

t.test('logs, agreed traces and proven balances of a block add up to the same for every account', (t) => {
  fc.assert(
    fc.property(fc.array(sent, { maxLength: 5 }), withdrawals, (all, withdrawn) => {
      const income = { feeRecipient: MINER, withdrawals: withdrawn, logsNative: false }
      const before = execute(all, false, income)
      const since = execute(all, true, { ...income, logsNative: true })
      const proven = new Map(
        [...before.changes].map(([address, wei]) => [address, { standing: 'proven' as const, wei }]),
      )
      const base = { quorum: 2, traces: [], changes: new Map(), paysTips: true }
      const shown = ['a', 'b'].map((host) => ({ host, moves: before.moves }))
      for (const address of [WALLET, addressOf(2), MINER, CREATED]) {
        const byLogs = told({ ...base, block: since.block }, address).transfers
        const byTraces = told({ ...base, block: before.block, traces: shown }, address).transfers
        const asText = (list: typeof byLogs) =>
          list.map(({ source, hash, direction, counterparty, amount: wei }) =>
            [source, hash, direction, counterparty, wei].join(' '),
          )
        t.strictSame(asText(byTraces), asText(byLogs))
        const checked = told({ ...base, block: before.block, traces: shown, changes: proven }, address)
        t.strictSame(checked, { transfers: byTraces, refuted: [] }, 'the balance says the same')
      }
      const found = movedAddresses({ block: before.block, traces: shown })
      for (const { from, to } of before.moves) t.ok(found.has(from) && found.has(to))
    }),
  )
  t.end()
})

const paying: Sent = {
  ...{ from: addressOf(3), to: addressOf(4), value: 5n, status: 'success', effectiveGasPrice: 4n },
  moves: [[addressOf(4), WALLET, 5n]],
}
const plainIncome = { feeRecipient: MINER, withdrawals: [], logsNative: false }

t.test('nodes agree on a wallet if a quorum shows the same of it, whatever one of them shows of others', (t) => {
  const { block, moves } = execute([paying], false, plainIncome)
  const invented = { hash: hashOf(1), from: addressOf(4), to: addressOf(2), amount: 9n }
  const traces = [
    { host: 'a', moves: [...moves, invented] },
    { host: 'b', moves },
  ]
  const sources = { block, quorum: 2, traces, changes: new Map(), paysTips: true }
  const [paid] = told(sources, WALLET).transfers
  t.strictSame([paid?.amount, paid?.counterparty, paid?.attribution], [5n, addressOf(4), 'agreed'])
  t.strictSame(told(sources, addressOf(2)).transfers, [], 'what one node invents')
  t.strictSame(told({ ...sources, traces: traces.slice(1) }, WALLET).transfers, [], 'one node alone')
  const quiet = new Map([[addressOf(2), { standing: 'proven' as const, wei: 0n }]])
  t.strictSame(told({ ...sources, changes: quiet }, addressOf(2)), { transfers: [], refuted: ['a'] })
  t.end()
})

t.test('without a trace the balance tells the amount, and call data the transaction', (t) => {
  const { block, changes } = execute([paying, { ...paying, moves: [] }], false, plainIncome)
  const [first, second] = block.transactions as [BlockTransaction, BlockTransaction]
  const named = { ...first, input: `0x1234${WALLET.slice(2)}` }
  const proven = new Map([[WALLET, { standing: 'proven' as const, wei: changes.get(WALLET) ?? 0n }]])
  const hashIn = (...transactions: BlockTransaction[]) => {
    const sources = { block: { ...block, transactions }, quorum: 1, traces: [], changes: proven, paysTips: true }
    return told(sources, WALLET).transfers.map(({ hash, amount: wei }) => [hash, wei])
  }
  t.strictSame(hashIn(named, second), [[first.hash, 5n]])
  t.strictSame(hashIn(first, second), [[null, 5n]])
  t.strictSame(hashIn(named, { ...second, input: named.input }), [[null, 5n]])
  t.strictSame(hashIn(named, { ...second, input: named.input, status: 'reverted' }), [[first.hash, 5n]])
  t.end()
})

t.test('tips are told only where the chain pays them to whom the header names', (t) => {
  const { block } = execute([paying], false, plainIncome)
  const sources = { block, quorum: 1, traces: [], changes: new Map(), paysTips: true }
  t.match(told(sources, MINER).transfers, { 0: { source: 'reward', amount: 10n }, length: 1 })
  t.strictSame(told({ ...sources, paysTips: false }, MINER).transfers, [])
  t.end()
})
