/** The removal of an asset while something that takes it is open. */
import t, { type Test } from 'tap'
import { decideOn } from '../../src/event-log/aggregate.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { withAssets } from '../support/asset-stage.ts'
import { transferIntent } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'

t.test('an asset that an open contract call takes is not removed', async (t: Test) => {
  const assets = await withAssets(t)
  const [taken, other] = [await assets.deploy('WBTC', 8), await assets.deploy('LINK', 18)]
  const register = async (contract_address: string) =>
    ((await assets.register({ network: 'ethereum', contract_address })).body.data as { asset_id: string }).asset_id
  const [takenId, otherId] = [await register(taken), await register(other)]
  const { assetId, symbol, decimals, contract } = await assets.resolve('acme', assets.ethereum, 'WBTC')
  const outflows = [{ asset: { assetId, symbol, decimals, contract }, amount: 5n }]
  const intent = transferIntent({ to: taken, data: '0x12345678', amount: 0n, outflows })
  const opened = decideOn(
    transactionAggregate,
    { id: 'tx_1', state: transactionAggregate.initialState, version: 0, hash: '' },
    { type: 'RequestTransaction', opening: 'ContractCallRequested', intent },
    { metadata: { tenantId: 'acme', actor: 'test' }, now: assets.log.now() },
  )
  const holds = (opened?.readModels.holds ?? []).map((hold) => ({ ...hold, mustFit: false }))
  await assets.log.append({
    decisions: opened === null ? [] : [{ ...opened, readModels: { ...opened.readModels, holds } }],
  })
  const refused = {
    status: 409,
    body: { errors: [{ code: 'asset_has_pending_transactions', details: { transaction_ids: ['tx_1'] } }] },
  }
  matchExactly(t, await assets.remove(takenId), refused)
  await assets.pool.query(
    `UPDATE transactions SET state = 'mined', block_number = 7, block_hash = '0x7', succeeded = true`,
  )
  await assets.pool.query('UPDATE wallet_holds SET held = 0')
  matchExactly(t, await assets.remove(takenId), refused, 'it is in a block that is not final')
  t.equal((await assets.remove(otherId)).status, 200, 'the call does not take this one')
  await assets.pool.query(`UPDATE transactions SET state = 'confirmed', status = 'confirmed'`)
  t.equal((await assets.remove(takenId)).status, 200)
})
