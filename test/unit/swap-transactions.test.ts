/** A swap of a token as a transaction: what it holds, what is signed for it, and when. */
import t from 'tap'
import { nativeAsset } from '../../src/core/assets.ts'
import { holdsOf } from '../../src/transactions/aggregate.ts'
import { buildCall } from '../../src/transactions/build-call.ts'
import { coversTransaction } from '../../src/transactions/covers.ts'
import {
  cancellation,
  FACTS,
  fold,
  golden,
  mined,
  recordedAs,
  signed,
  tagged,
} from '../support/recorded-transactions.ts'

const swap = golden('SwapRequested')
const approval = golden('TokenApprovalRequested')
const state = fold([swap])
const succeeded = fold([approval, signed, mined])

function known() {
  if (state.state === 'unknown') throw new Error('the swap was requested')
  return state
}

t.test('a swap holds what it may sell and its gas, and sends none of the native currency', async (t) => {
  const { network, chainId, asset, reserved, to, data } = known().intent
  t.strictSame(buildCall(known().intent), { to, value: 0n, data })
  t.strictSame(
    [...holdsOf(state)],
    [
      [nativeAsset(network, chainId).assetId, reserved.gasLimit * reserved.maxFeePerGas],
      [asset.assetId, 3_000_000_000n],
    ],
  )
  t.strictSame([...holdsOf(fold([approval])).keys()], [nativeAsset(network, chainId).assetId])
  t.equal(holdsOf(fold([swap, signed, mined])).size, 0)
})

t.test('parties sign a swap as it was accepted, after its approval has succeeded, and nothing else', async (t) => {
  const { from, chainId, to, data, reserved } = known().intent
  const transaction = { chainId, nonce: 8, to, value: 0n, data: data ?? '', ...reserved, maxPriorityFeePerGas: 1n }
  const asked = { address: from, transaction: tagged(state, transaction) }
  const facts = { ...FACTS, dependency: succeeded }
  t.match(coversTransaction(recordedAs(state), asked, facts), { covered: true })
  const covered = (change: Partial<typeof transaction>) =>
    coversTransaction(recordedAs(state), { address: from, transaction: { ...asked.transaction, ...change } }, facts)
      .covered
  t.notOk(covered({ data: `${transaction.data.slice(0, -1)}0` }), 'another deadline or minimum')
  t.notOk(covered({ to: approval.data.to }))
  t.notOk(covered({ value: 1n }))
  for (const dependency of [null, fold([approval]), fold([approval, signed]), fold([approval, cancellation])])
    t.notOk(coversTransaction(recordedAs(state), asked, { ...facts, dependency }).covered)
})
