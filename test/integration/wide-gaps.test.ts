/** Gaps in the nonces of a lane on a real database, also one that is as wide as a wrong transaction count made it. */
import t from 'tap'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { createLaneReads } from '../../src/transactions/lanes.ts'
import { withLane } from '../support/lane-stage.ts'
import { TEST_CHAIN, transferIntent } from '../support/log.ts'
import { signature } from '../support/operator-stage.ts'

const LANE = { chainId: TEST_CHAIN, address: transferIntent().from }
const METADATA = { tenantId: 'acme', actor: 'test' }
const GWEI = 10n ** 9n

t.test('no statement reads a gap number by number, however wide it is', async (t) => {
  const { pool, accept, log } = await withLane(t, { balance: 10n ** 20n })
  const lanes = createLaneReads(pool)
  t.strictSame(await lanes.gaps(LANE, 0, 0), [], 'nothing is in flight')
  for (const nonce of [1, 3, 2 ** 40]) {
    const id = await accept()
    await log.execute(transactionAggregate, id, signature(id, nonce, 40n * GWEI, log.now()), { metadata: METADATA })
  }
  // Number by number, none of these would end.
  t.strictSame(await lanes.gaps(LANE, 0, 0), [0, 2, ...Array.from({ length: 14 }, (_, i) => 4 + i)])
  t.strictSame(await lanes.gaps(LANE, 2 ** 40 - 2, 0), [2 ** 40 - 2, 2 ** 40 - 1])
  t.strictSame(await lanes.gaps(LANE, 2 ** 40 + 5, 0), [])
  t.strictSame((await lanes.room(LANE, 0, 3)).nonces, [0, 2, 4])
  t.strictSame((await lanes.room(LANE, 2 ** 40, 2)).nonces, [2 ** 40 + 1, 2 ** 40 + 2])
  t.equal(await lanes.fillersOfHour(LANE, 0), 0)
})
