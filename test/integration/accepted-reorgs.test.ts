/** Reorgs that the follower refuses: nothing is undone until an operator accepts them, and then they are followed. */
import t, { type Test } from 'tap'
import { countObservedFrom } from '../../src/activity/count-observed.ts'
import { readHeaders } from '../../src/chain/blocks.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { createWalkedBlocks } from '../../src/follower/cursor.ts'
import { acceptReorg, countUndone, readRefused } from '../../src/follower/finality.ts'
import { acceptReorgCommand } from '../../src/operator/accept-reorg-command.ts'
import { judgeFollower } from '../../src/operator/stuck/judge-following.ts'
import { readServiceFacts } from '../../src/operator/stuck/service-facts.ts'
import { addWallet, fresh, untilWalked } from '../support/balances.ts'
import { runCommandLine } from '../support/cli.ts'
import { type FollowedChain, withFollowedChain } from '../support/followed-chain.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'

/** An anvil calls the block final that is two below its newest one. */
const withFinality = (t: Test) => withFollowedChain(t, async () => ({ finalizes: true }), { mining: 'each' })

function operatorOf({ pool, log, settings, client }: FollowedChain) {
  const command = acceptReorgCommand((task) =>
    task({
      refusedOn: (chainId) => readRefused(pool, chainId),
      transactionsFrom: (chainId, block) => countUndone(pool, chainId, block),
      accept: (...accepted) => acceptReorg(log, ...accepted),
      chains: [{ settings, client: client.client, capSetting: '', urlsSetting: 'ETHEREUM_RPC_URLS', relayed: null }],
      transfersFrom: (chainId, block) => countObservedFrom(pool, chainId, block),
      hashesAt: async (_, block) =>
        (await readHeaders(client.client.agreed, [block])).map((header) => header?.hash ?? null),
    }),
  )
  return (args: string) => runCommandLine([command], `accept-reorg ${args}`)
}

async function statusesOf({ pool }: FollowedChain): Promise<string[]> {
  const { rows } = await pool.query<{ status: string }>('SELECT status FROM observed_transfers ORDER BY block_number')
  return rows.map(({ status }) => status)
}

const eventsOf = async ({ pool }: FollowedChain) =>
  (
    await pool.query<{ type: string; data: Record<string, unknown> }>(
      "SELECT type, data FROM events WHERE stream_id = 'chain-ethereum-mainnet' ORDER BY stream_version",
    )
  ).rows

function untilRefused({ pool }: FollowedChain, reason: RegExp): Promise<true> {
  return eventually(async () => {
    const { rows } = await pool.query<{ reason: string }>('SELECT reason FROM chain_stalls WHERE refusal IS NOT NULL')
    return reason.test(rows[0]?.reason ?? '')
  })
}

/** What `stuck` says once it has lasted. */
async function stuckOn({ pool, settings }: FollowedChain) {
  const sources = {
    pool,
    sources: [],
  }
  await pool.query("UPDATE chain_stalls SET since = now() - interval '1 minute'")
  const facts = await readServiceFacts(sources, new Map(), new Date())
  const node = { up: true, head: 1, baseFeePerGas: 1n } as const
  const chain = {
    settings,
    name: 'ethereum',
    node,
    capSetting: '',
    urlsSetting: 'ETHEREUM_RPC_URLS',
    relayed: null,
  }
  return judgeFollower(facts, chain, { lagBlocks: 20 } as never)
}

t.test('a reorg below the final block undoes nothing until it is accepted, then deposits are taken back', async (t) => {
  const chain = await withFinality(t)
  const operator = operatorOf(chain)
  await addWallet(chain, 'wal_a', { address: fresh(1), type: 'hd' })
  const snapshot = await chain.rpc('evm_snapshot')
  let following = chain.follow()
  await untilWalked(chain)
  await chain.transfer(fresh(1), 7n)
  await chain.rpc('anvil_mine', ['0x8'])
  await untilWalked(chain)
  t.strictSame(await eventually(async () => (await statusesOf(chain)).includes('confirmed')), true)
  t.match(await operator('ethereum --reason x --yes'), {
    code: 1,
    err: /refuses no reorg, so there is nothing to accept/,
  })

  // Nodes are asked every ten seconds what is final: the next start asks at its first block.
  await following.stop()
  following = chain.follow()
  await chain.rpc('anvil_mine', ['0x1'])
  await untilWalked(chain)
  const walked = createWalkedBlocks(chain.pool)
  const final = await walked.final(TEST_CHAIN)
  t.match(final, { number: 8 }, 'two below the newest block')

  await chain.rpc('evm_revert', [snapshot])
  await chain.rpc('evm_setNextBlockTimestamp', [toQuantity(Math.floor(Date.now() / 1_000) + 1_000)])
  await chain.rpc('anvil_mine', ['0xf'])
  await untilRefused(chain, /block 8 .* is final: nothing is undone/)
  await following.stop()
  following = chain.follow()
  matchExactly(t, await stuckOn(chain), [
    {
      kind: 'follower_halted',
      subject: 'ethereum',
      next: [{}, {}, { run: 'npm run bursar -- accept-reorg ethereum' }],
    },
  ])
  t.strictSame(await statusesOf(chain), ['confirmed'], 'a restart changes nothing')
  t.match(await operator('ethereum'), {
    code: 1,
    out: /From block 1 on, this undoes 0 transactions, .* and 1 observed transfer\.\nNodes that show another block 8 now: 1; .*Nothing is changed/s,
  })
  t.match(await operator('ethereum --yes'), { code: 2, err: /--reason must be/ })
  t.notOk((await eventsOf(chain)).some(({ type }) => type === 'ReorgAccepted'))

  const { code, out } = await operator('ethereum --json --yes --reason incident')
  t.equal(code, 0)
  t.match(JSON.parse(out), { from_block: 1, final, genesis: null, undone: { transfers: 1 }, accepted: true })
  await untilWalked(chain)
  await eventually(async () => (await statusesOf(chain)).includes('orphaned'))
  matchExactly(
    t,
    (await eventsOf(chain)).filter(({ type }) => type !== 'FollowerAdvanced'),
    [
      { type: 'ReorgAccepted', data: { final, genesis: null, reason: 'incident' } },
      { type: 'ReorgDetected', data: { ancestor: { number: 0 } } },
    ],
  )
  t.match(await operator('ethereum --reason x --yes'), { code: 1, err: /nothing to accept/ })
  await following.stop()
})

t.test(
  'another chain with the same id undoes nothing until it is accepted, then it is read from its start',
  async (t) => {
    const chain = await withFinality(t)
    const operator = operatorOf(chain)
    await addWallet(chain, 'wal_a', { address: fresh(2), type: 'hd' })
    let following = chain.follow()
    await untilWalked(chain)
    await chain.transfer(fresh(2), 7n)
    await chain.rpc('anvil_mine', ['0x8'])
    await untilWalked(chain)
    await following.stop()
    // As if all this had been followed on a chain that began with another block.
    const old = `0x${'0d'.repeat(32)}`
    await chain.pool.query("UPDATE chain_blocks SET hash = '0x' || md5(hash) || md5(number::text)")
    await chain.pool.query('UPDATE chain_blocks SET hash = $1 WHERE number = 0', [old])
    await chain.pool.query(
      `UPDATE chain_cursors c SET hash = b.hash, final_number = 5, final_hash = '0x05'
       FROM chain_blocks b WHERE b.number = c.number`,
    )
    following = chain.follow()
    await untilRefused(chain, /another chain with the same id/)
    t.strictSame(await statusesOf(chain), ['confirmed'], 'nothing is undone')
    const [genesis] = await readHeaders(chain.client.client, [0])
    t.match(await operator('ethereum'), { code: 1, out: /From block 0 on, .* 1 observed transfer/ })
    t.match(await operator('ethereum --reason restarted --yes'), { code: 0, out: /Accepted/ })
    await untilWalked(chain)
    await eventually(async () => (await createWalkedBlocks(chain.pool).hash(TEST_CHAIN, 0)) === genesis?.hash)
    await eventually(async () => (await statusesOf(chain)).join() === 'confirmed')
    const types = (
      await chain.pool.query<{ type: string }>(
        "SELECT type FROM events WHERE stream_id LIKE 'observed-%' ORDER BY position",
      )
    ).rows.map(({ type }) => type)
    t.strictSame(types, [
      'TransferObserved',
      'TransferConfirmed',
      'TransferOrphaned',
      'TransferObserved',
      'TransferConfirmed',
    ])
    matchExactly(t, await eventsOf(chain), [
      { type: 'ReorgAccepted', data: { genesis: genesis?.hash } },
      { type: 'ReorgDetected', data: { ancestor: { number: 0, hash: genesis?.hash }, beyondWindow: true } },
    ])
    t.equal((await chain.pool.query('SELECT FROM chain_stalls')).rowCount, 0)
    await following.stop()
  },
)
