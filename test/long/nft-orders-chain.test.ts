/**
 * Random orders of mints, redemptions (ours and of outsiders), revocations, burns, transfers, cancellations and reorganisations on a
 * real chain: after every block the status, the owner, the supply and the events of each token are those of its contract.
 * `NFT_ORDERS_SEED` repeats the orders of a run, and `NFT_ORDERS_BLOCKS` is their length.
 */
import { randomInt } from 'node:crypto'
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { createRandom } from '../support/load-random.ts'
import { ACTS, type NftOrders, withOrders } from '../support/nft-orders.ts'
import { differences, tokensOf, untilFollowed } from '../support/nft-orders-check.ts'
import { type NftStage, withNftStage } from '../support/nft-stage.ts'

const BLOCKS = Number(process.env.NFT_ORDERS_BLOCKS ?? 60)

async function requireEqual(stage: NftStage, { collections, mints, holders }: NftOrders): Promise<void> {
  await untilFollowed(stage)
  for (const collection of collections) {
    const found = await differences(stage, collection, { mints, holders })
    if (found.length > 0) throw new Error(found.join('\n'))
  }
}

t.test('whatever the order, the service says of each token what its contract says, at every block', async (t) => {
  const seed = Number(process.env.NFT_ORDERS_SEED ?? randomInt(2 ** 31))
  t.comment(`NFT_ORDERS_SEED=${seed}`)
  const random = createRandom(seed)
  const stage = await withNftStage(t)
  const orders = await withOrders(stage, random)
  const done: string[] = []
  try {
    for (let block = 0; block < BLOCKS; block += 1) {
      if (random.chance(0.15)) done.push(await orders.reorg())
      else {
        for (let n = random.between(1, 4); n > 0; n -= 1) done.push(await orders.take(random.pick(ACTS)))
        if (random.chance(0.8)) await orders.untilSent()
        await stage.mine()
        done.push('block')
      }
      await requireEqual(stage, orders)
    }
    await stage.settle()
    await requireEqual(stage, orders)
  } catch (error) {
    t.comment(done.slice(-60).join('\n'))
    throw error
  }
  const tokens = (await Promise.all(orders.collections.map((collection) => tokensOf(stage, collection)))).flat()
  const names = tokens.map(({ status, outcome }) => `${status} ${outcome}`)
  t.comment([...new Set(names)].map((name) => `${names.filter((one) => one === name).length} ${name}`).join(', '))
  t.notOk(
    tokens.some(({ status }) => status === 'PENDING'),
    'nothing is left open',
  )
  t.strictSame((await compareLive(stage.service.pool, LOG_CONTENTS)).differences, [])
})

t.end()
