/** Where collections are deployed: by the rules of the chain, and by what stands there. */
import t from 'tap'
import { DEPLOYMENT_PROXY } from '../../src/chain/deployment-proxy.ts'
import { rulesOf } from '../../src/chain/forks.ts'
import {
  FACTORY_ADDRESS,
  STEP_FACTORY_ADDRESS,
  STEP_IMPLEMENTATION_ADDRESS,
} from '../../src/nft/contracts/collection.ts'
import { nftKinds } from '../../src/nft/opening-rules.ts'
import { readIntent } from '../../src/transactions/read-events.ts'
import { ASYNC, anotherNftApi, COLLECTION, withNftApi } from '../support/nft-api.ts'

t.test(
  'since Amsterdam a new factory and its implementation are transactions of their own, each within the limit',
  async (t) => {
    const { calls, collection } = await withNftApi(t, { hasFactory: false, fork: 'amsterdam' })
    const [first, second, other] = [
      await collection({ name: 'One' }),
      await collection({ name: 'Two' }),
      await collection({ name: 'Three', standard: 'ERC1155' }),
    ]
    const { rows } = await calls.pool.query(
      'SELECT transaction_id, to_address, depends_on, subject_id FROM transactions ORDER BY transaction_id',
    )
    const [factory, erc721, one, two, erc1155, three] = rows
    t.strictSame(
      rows.map(({ to_address, depends_on }) => [to_address, depends_on]),
      [
        [DEPLOYMENT_PROXY, null],
        [STEP_FACTORY_ADDRESS, factory.transaction_id],
        [STEP_FACTORY_ADDRESS, erc721.transaction_id],
        [STEP_FACTORY_ADDRESS, erc721.transaction_id],
        [STEP_FACTORY_ADDRESS, factory.transaction_id],
        [STEP_FACTORY_ADDRESS, erc1155.transaction_id],
      ],
    )
    t.strictSame(
      [first, second, other].map(({ transaction_id }) => transaction_id),
      [one, two, three].map(({ transaction_id }) => transaction_id),
    )
    const events = await calls.pool.query("SELECT data FROM events WHERE type = 'CollectionDeployRequested'")
    for (const { data } of events.rows) {
      const limit = BigInt(data.reserved.gasLimit)
      t.ok(limit <= rulesOf('amsterdam').transaction, `${limit} gas`)
      t.equal(nftKinds.CollectionDeployRequested.rule(readIntent(data)), null, 'whoever signs accepts it')
    }
  },
)

t.test('a wallet waits for no factory of another one, which may never be paid for', async (t) => {
  for (const fork of ['osaka', 'amsterdam'] as const) {
    const { calls, collection } = await withNftApi(t, { hasFactory: false, fork })
    await collection({ name: 'One' })
    const { walletId } = await calls.wallet()
    await collection({ name: 'Two', wallet_id: walletId })
    const { rows } = await calls.pool.query<{ depends: string | null; wallet: string; data: string }>(
      `SELECT d.wallet_id AS depends, x.wallet_id AS wallet, e.data->>'data' AS data FROM transactions x
         JOIN events e ON e.stream_id = 'transaction-' || x.transaction_id AND e.type = 'CollectionDeployRequested'
         LEFT JOIN transactions d ON d.transaction_id = x.depends_on ORDER BY x.transaction_id`,
    )
    t.equal(rows.length, fork === 'osaka' ? 4 : 6)
    for (const { depends, wallet } of rows) t.ok(depends === null || depends === wallet, 'only on its own')
    t.equal(new Set(rows.map(({ data }) => data)).size, fork === 'osaka' ? 4 : 5, 'each factory has a salt of its own')
  }
})

t.test('an installation from before Amsterdam is kept, and one in steps is used as far as it stands', async (t) => {
  const kept = await withNftApi(t, { fork: 'amsterdam' })
  await kept.collection()
  const before = await kept.calls.pool.query('SELECT to_address FROM transactions')
  t.strictSame(before.rows, [{ to_address: FACTORY_ADDRESS }])
  const standing = new Set([STEP_FACTORY_ADDRESS, STEP_IMPLEMENTATION_ADDRESS.ERC721])
  const steps = await withNftApi(t, { hasFactory: false, fork: 'amsterdam', standing })
  const made = await steps.collection()
  const after = await steps.calls.pool.query('SELECT to_address, depends_on FROM transactions')
  t.strictSame(after.rows, [{ to_address: STEP_FACTORY_ADDRESS, depends_on: null }])
  t.not(made.contract_address, undefined)
})

t.test(
  'a collection waits for no factory of the other kind, from before a fork or a process that saw none',
  async (t) => {
    const { calls, collection } = await withNftApi(t, { hasFactory: false })
    await collection({ name: 'One' })
    const wallet = await calls.pool.query('SELECT DISTINCT wallet_id FROM transactions')
    const later = await anotherNftApi(t, calls, { hasFactory: false, fork: 'amsterdam' })
    const payload = { ...COLLECTION, name: 'Two', wallet_id: wallet.rows[0].wallet_id }
    await later.send({ method: 'POST', url: '/v1/nft/collections/create', payload, headers: ASYNC })
    const { rows } = await calls.pool.query(
      'SELECT transaction_id, to_address, depends_on FROM transactions ORDER BY transaction_id',
    )
    const [whole, , steps, implementation] = rows
    t.strictSame(
      rows.map(({ to_address, depends_on }) => [to_address, depends_on]),
      [
        [DEPLOYMENT_PROXY, null],
        [FACTORY_ADDRESS, whole.transaction_id],
        [DEPLOYMENT_PROXY, null],
        [STEP_FACTORY_ADDRESS, steps.transaction_id],
        [STEP_FACTORY_ADDRESS, implementation.transaction_id],
      ],
    )
  },
)
