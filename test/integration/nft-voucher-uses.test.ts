/** Who got the token of a voucher, over HTTP on a real PostgreSQL: by the log of its contract, whoever holds it later. */
import t, { type Test } from 'tap'
import type { Block } from '../../src/chain/blocks.ts'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import { ownershipAggregate } from '../../src/nft/ownership/aggregate.ts'
import type { TokenMove } from '../../src/nft/ownership/events.ts'
import { createEarlierUses } from '../../src/nft/tokens/earlier-uses.ts'
import { observeUses } from '../../src/nft/tokens/observe-uses.ts'
import { mine, NOW } from '../support/calls.ts'
import type { Answer } from '../support/http.ts'
import { BUT_BALANCES, TEST_CHAIN } from '../support/log.ts'
import { ASYNC, type Data, RECIPIENT, withNftApi } from '../support/nft-api.ts'
import { recordUse } from '../support/recorded-use.ts'
import { ACME } from '../support/wallet-parts.ts'

const OTHER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const dataOf = (answer: Answer) => (answer.body.data ?? {}) as Data

async function withVouchers(t: Test) {
  const api = await withNftApi(t)
  const { log } = api.calls
  const { collection_id, contract_address } = await api.collection()
  const lazy = async () => {
    const answer = await api.mint(collection_id, { minting_type: 'LAZY', recipient: undefined }, { prefer: 'wait=10' })
    const { mint_id, token_id } = dataOf(answer)
    return { id: String(mint_id), tokenId: String(token_id) }
  }
  let blockNumber = 7
  /** A block with one move of a token, as it is recorded; with `undone`, a reorg removes it again. */
  const move = async (move: Omit<TokenMove, 'amount'>, undone = false) => {
    blockNumber += 1
    const moves = [{ ...move, amount: '1' }]
    const block = {
      chainId: TEST_CHAIN,
      contract: String(contract_address),
      blockNumber,
      blockHash: `0xb${blockNumber}`,
    }
    const blocks = [{ ...block, moves }]
    const commands = [
      { type: 'RecordMoves', blocks, now: NOW } as const,
      { type: 'RecordReorg', blocks, ancestorNumber: blockNumber - 1, now: NOW } as const,
    ]
    for (const command of undone ? commands : commands.slice(0, 1))
      await log.execute(ownershipAggregate, String(collection_id), command, { metadata: ACME })
  }
  const read = async ({ id }: { readonly id: string }) => dataOf(await api.get(`/v1/nft/mints/${id}`))
  const redeem = async ({ id }: { readonly id: string }, recipient: string) =>
    String(dataOf(await api.post(`/v1/nft/mints/${id}/redeem`, { recipient }, ASYNC)).transaction_id)
  return { ...api, collection_id, contract_address, lazy, move, read, redeem }
}

t.test('who got the token is what the contract logged, also once another address holds it', async (t) => {
  const { calls, collection_id, lazy, move, read, redeem, get } = await withVouchers(t)
  const voucher = await lazy()
  const { tokenId } = voucher
  const transactionId = await redeem(voucher, RECIPIENT)
  await mine(calls, transactionId, 0)
  await recordUse(calls, voucher.id, RECIPIENT, { hash: `0x${transactionId}`, transactionId })
  await move({ tokenId, from: null, to: RECIPIENT })
  await move({ tokenId, from: RECIPIENT, to: OTHER })
  const minted = { status: 'MINTED', outcome: 'AS_REQUESTED', transaction_id: transactionId, failure: null }
  t.match(await read(voucher), { ...minted, owner: RECIPIENT })
  const token = await get(`/v1/nft/collections/${collection_id}/tokens/${tokenId}`)
  t.match(dataOf(token), { ...minted, owner: OTHER })
})

t.test(
  'a use from before uses were recorded is learnt once from the recorded moves, also of a burnt token',
  async (t) => {
    const { calls, lazy, move, read, redeem } = await withVouchers(t)
    const { pool, log } = calls
    const [burnt, held, undone, own, open] = [await lazy(), await lazy(), await lazy(), await lazy(), await lazy()]
    await mine(calls, await redeem(own, RECIPIENT), 0)
    await move({ tokenId: own.tokenId, from: null, to: RECIPIENT })
    await move({ tokenId: held.tokenId, from: null, to: OTHER })
    await move({ tokenId: burnt.tokenId, from: null, to: OTHER })
    await move({ tokenId: burnt.tokenId, from: OTHER, to: null })
    await move({ tokenId: undone.tokenId, from: null, to: OTHER }, true)
    t.match(await read(held), { status: 'MINTED', owner: OTHER }, 'its holder shows it')
    t.match(await read(burnt), { status: 'LAZY' }, 'nobody holds it')

    const decisions = await createEarlierUses({ pool, log }, TEST_CHAIN)()
    t.strictSame(
      decisions.map(({ events: [event] }) => event?.streamId).toSorted(),
      [`mint-${burnt.id}`, `mint-${held.id}`].toSorted(),
    )
    await log.append({ decisions })
    t.strictSame(await createEarlierUses({ pool, log }, TEST_CHAIN)(), [])
    for (const one of [burnt, held]) {
      const minted = {
        status: 'MINTED',
        owner: OTHER,
        outcome: 'BY_HOLDER',
        transaction_id: null,
        transaction_hash: null,
      }
      t.match(await read(one), minted)
    }
    t.match(await read(own), { status: 'MINTED', owner: RECIPIENT, outcome: 'AS_REQUESTED' })
    for (const one of [undone, open]) t.match(await read(one), { status: 'LAZY' })
    t.strictSame((await compareLive(pool, LOG_CONTENTS, { tables: BUT_BALANCES })).differences, [])
  },
)

t.test('a block that logs thousands of mints of foreign contracts costs one query for the contracts', async (t) => {
  const { calls, lazy, contract_address } = await withVouchers(t)
  const voucher = await lazy()
  const nobody = `0x${'00'.repeat(20)}`
  const ids = Array.from({ length: 2_000 }, (_, n) => BigInt(n))
  const foreign = COLLECTION_ABI.ERC1155.encodeEventLog('TransferBatch', [OTHER, nobody, OTHER, ids, ids.map(() => 1n)])
  const own = COLLECTION_ABI.ERC721.encodeEventLog('Transfer', [nobody, OTHER, BigInt(voucher.tokenId)])
  const logOf = (address: string, log: { topics: string[]; data: string }) => ({ ...log, address, logIndex: 0 })
  const asked: number[] = []
  const pool = {
    query(query: { values: readonly unknown[] }) {
      asked.push(...query.values.flatMap((value) => (Array.isArray(value) ? [value.length] : [])))
      return calls.pool.query(query as never)
    },
  }
  const seen = async (...logs: ReturnType<typeof logOf>[]) => {
    const block = { number: 9, hash: '0xb9', transactions: [{ hash: '0x9', logs }] } as unknown as Block
    return observeUses({ pool: pool as never, log: calls.log }, TEST_CHAIN, [block])
  }
  t.strictSame(await seen(logOf(OTHER.toLowerCase(), foreign)), [])
  t.strictSame(asked, [1], 'not one lookup for each token id')
  const both = [logOf(OTHER.toLowerCase(), foreign), logOf(String(contract_address).toLowerCase(), own)]
  t.equal((await seen(...both)).length, 1, 'the use of a voucher beside them is recorded')
  t.strictSame(asked.slice(1), [2, 1, 1, 1])
})

t.test('mints whose log is held do not have the moves of their collections read again with each block', async (t) => {
  const { calls, lazy, move } = await withVouchers(t)
  const voucher = await lazy()
  await move({ tokenId: voucher.tokenId, from: null, to: OTHER })
  let queries = 0
  const pool = {
    query(...query: unknown[]) {
      queries += 1
      return calls.pool.query(...(query as [never]))
    },
  }
  const held: Pick<EventLog, 'loadMany' | 'now'> = {
    now: calls.log.now,
    loadMany: async (aggregate, ids) =>
      (await calls.log.loadMany(aggregate, ids)).map((loaded) => ({
        ...loaded,
        held: 'its events were edited',
      })) as never,
  }
  const earlierUses = createEarlierUses({ pool: pool as never, log: held }, TEST_CHAIN)
  for (let block = 0; block < 4; block += 1) t.strictSame(await earlierUses(), [])
  const before = queries
  t.strictSame(await earlierUses(), [])
  t.equal(queries, before)
  t.equal((await createEarlierUses(calls, TEST_CHAIN)()).length, 1, 'it is recorded once the log is not held')
})
