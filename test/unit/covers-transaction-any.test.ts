/** For any state of a lane and any request: only the recorded call, or a transfer of zero, is covered. */
import fc from 'fast-check'
import t from 'tap'
import { encodeTransfer } from '../../src/chain/erc20.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { coversTransaction } from '../../src/transactions/covers.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import {
  cancellation,
  cancelling,
  consumed,
  FACTS,
  fold,
  mined,
  NONCE,
  recordedAs,
  replaced,
  requested,
  signed,
  TRANSFER,
  tagged,
} from '../support/recorded-transactions.ts'

const hex = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)
const amount = fc.bigInt({ min: 0n, max: 2n ** 128n })
const INTENT: fc.Arbitrary<Intent> = fc
  .record({
    from: hex(20),
    to: hex(20),
    amount,
    chainId: fc.integer({ min: 1, max: 1_000_137 }),
    contract: fc.option(hex(20)),
    data: fc.option(fc.nat(80).chain(hex)),
  })
  .map(({ contract, ...fields }) => ({
    ...requested.data,
    ...fields,
    asset: { ...requested.data.asset, contract },
  }))
/** Possible states of a lane. */
const HISTORIES: readonly (readonly TransactionEvent[])[] = [
  [],
  [signed],
  [signed, replaced],
  [signed, cancellation],
  [signed, cancellation, cancelling],
  [signed, consumed],
  [signed, mined],
  [cancellation],
]

t.test(
  'for any intent in any state a random request is covered only as the recorded call or a cancellation',
  async (test) => {
    let covered = 0
    const property = fc.property(INTENT, fc.constantFrom(...HISTORIES), fc.gen(), (intent, history, gen) => {
      const state = fold([{ type: 'TransferRequested', data: intent }, ...history])
      const token = intent.data === null && intent.asset.contract !== null
      const call = {
        to: token ? (intent.asset.contract as string) : intent.to,
        // A call with the asset of a token sells it: it sends no native currency.
        value: intent.asset.contract === null ? intent.amount : 0n,
        data: intent.data ?? (token ? encodeTransfer(intent.to, intent.amount) : '0x'),
      }
      const nothing = { to: intent.from, value: 0n, data: '0x' }
      // Each field is usually right, so that some requests are valid.
      const or = <T>(right: T, wrong: fc.Arbitrary<T>): T => (gen(fc.nat, 9) > 0 ? right : gen(() => wrong))
      const wanted = gen(() => fc.constantFrom(call, nothing))
      const untagged = {
        ...TRANSFER,
        // Enough to replace each of the histories, also when a tag lowers it.
        maxFeePerGas: 22_500_065_536n,
        chainId: or(intent.chainId, fc.nat()),
        nonce: or(NONCE, fc.nat(20)),
        to: or(wanted.to, hex(20)),
        value: or(wanted.value, amount),
        data: or(wanted.data, fc.nat(80).chain(hex)),
      }
      const transaction = or(tagged(state, untagged), fc.constant(untagged))
      const address = or(intent.from, hex(20))
      const coverage = coversTransaction(recordedAs(state), { address, transaction }, FACTS)
      if (!coverage.covered) return coverage.rule.length > 0
      covered += 1
      const same = (right: typeof call) =>
        (['to', 'value', 'data'] as const).every((name) => transaction[name] === right[name])
      const attempts = state.state === 'unknown' ? [] : state.attempts
      return (
        address === intent.from &&
        transaction.chainId === intent.chainId &&
        attempts.every(({ nonce }) => nonce === transaction.nonce) &&
        (history.includes(cancellation) ? same(nothing) : same(call)) &&
        !history.includes(mined)
      )
    })
    fc.assert(property, { numRuns: 1_000 })
    test.ok(covered > 50, `${covered} requests are covered`)
  },
)
