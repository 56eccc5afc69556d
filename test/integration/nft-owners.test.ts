/** Token holders according to a real chain: after any move, and after a reorg. */
import t, { type Test } from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { encodeErc721Transfer, encodeSafeTransfer } from '../../src/nft/contracts/encode-calls.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { type NftStage, STRANGER, withNftStage } from '../support/nft-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'

async function until(t: Test, look: () => Promise<string[]>, expected: string[]): Promise<void> {
  await eventually(async () => JSON.stringify(await look()) === JSON.stringify(expected))
  t.strictSame(await look(), expected)
}

/** Requires that the fold of the log equals the rows. */
async function requireReplayed(t: Test, { service }: NftStage): Promise<void> {
  const { rows, differences } = await compareLive(service.pool, LOG_CONTENTS)
  t.ok(rows.nft_owners)
  t.strictSame(differences, [])
}

t.test('mints, transfers from outside and burns show, and a reorg takes them back', async (t) => {
  const stage = await withNftStage(t)
  const [issuer, holder] = await stage.service.makeWallets(2)
  if (issuer === undefined || holder === undefined) throw new Error('a wallet is missing')
  const collection = await stage.collection(issuer)
  for (let n = 0; n < 3; n += 1) await stage.mint(collection, STRANGER)
  await stage.settle()
  const owners = () => stage.owners(collection)
  const minted = [`1 ${STRANGER} 1`, `2 ${STRANGER} 1`, `3 ${STRANGER} 1`]
  await until(t, owners, minted)

  const before = await stage.rpc('evm_snapshot')
  const give = (tokenId: bigint) => encodeErc721Transfer({ from: STRANGER, to: holder.address, tokenId, amount: 1n })
  await stage.outside({ to: collection.contract, data: give(1n) })
  await stage.outside({ to: collection.contract, data: give(2n) })
  // burn(uint256)
  await stage.outside({ to: collection.contract, data: `0x42966c68${'3'.padStart(64, '0')}` })
  await until(t, owners, [`1 ${holder.address} 1`, `2 ${holder.address} 1`])
  const list = async () => (await stage.ask({ path: `/v1/wallets/${holder.id}/nfts` })).body.data
  matchExactly(t, await list(), {
    nfts: [
      { collection_id: collection.id, token_id: '2' },
      {
        collection_id: collection.id,
        contract_address: collection.contract,
        token_id: '1',
        standard: 'ERC721',
        amount: '1',
        metadata_uri: /^ipfs:\/\/b/,
        name: 'One',
        image: 'https://example.com/1.png',
      },
    ],
    has_more: false,
  })
  const token = async (id: number) =>
    (await stage.ask({ path: `/v1/nft/collections/${collection.id}/tokens/${id}` })).body.data
  matchExactly(t, await token(1), { owner: holder.address, owners: [{ owner: holder.address, amount: '1' }] })
  matchExactly(t, await token(3), { status: 'MINTED', owner: null, owners: [] }, 'a burnt token has no owner')
  await requireReplayed(t, stage)

  await stage.rpc('evm_revert', before)
  await stage.rpc('evm_increaseTime', 7)
  await stage.mine(4)
  await until(t, owners, minted)
  t.match(await token(1), { owner: STRANGER })
  t.strictSame((await list()).nfts, [])
  await stage.outside({ to: collection.contract, data: give(2n) })
  await until(t, owners, [`1 ${STRANGER} 1`, `2 ${holder.address} 1`, `3 ${STRANGER} 1`])
  await requireReplayed(t, stage)
})

t.test('units of ERC-1155 are counted for each holder, page by page and by collection', async (t) => {
  const stage = await withNftStage(t)
  const [issuer, holder] = await stage.service.makeWallets(2)
  if (issuer === undefined || holder === undefined) throw new Error('a wallet is missing')
  const units = await stage.collection(issuer, { standard: 'ERC1155' })
  const single = await stage.collection(issuer)
  await stage.mint(units, STRANGER, { amount: '100' })
  await stage.mint(single, holder.address)
  await stage.mint(single, holder.address)
  await stage.settle()
  await until(t, () => stage.owners(units), [`1 ${STRANGER} 100`])
  const data = encodeSafeTransfer('ERC1155', { from: STRANGER, to: holder.address, tokenId: 1n, amount: 30n })
  await stage.outside({ to: units.contract, data })
  await until(t, () => stage.owners(units), [`1 ${holder.address} 30`, `1 ${STRANGER} 70`].toSorted())

  const { body } = await stage.ask({ path: `/v1/nft/collections/${units.id}/tokens/1` })
  matchExactly(t, body.data, {
    owner: null,
    owners: [
      { owner: STRANGER, amount: '70' },
      { owner: holder.address, amount: '30' },
    ],
  })

  const nfts = (query: string) => stage.ask({ path: `/v1/wallets/${holder.id}/nfts${query}` })
  const short = (page: { collection_id: string; token_id: string; amount: string }[]) =>
    page.map(({ collection_id, token_id, amount }) => `${collection_id} ${token_id} ${amount}`)
  const all = [`${single.id} 2 1`, `${single.id} 1 1`, `${units.id} 1 30`]
  t.strictSame(short((await nfts('')).body.data.nfts), all)
  t.strictSame(short((await nfts(`?collection_id=${units.id}`)).body.data.nfts), all.slice(2))
  const { data: first } = (await nfts('?limit=2')).body
  t.strictSame(short(first.nfts), all.slice(0, 2))
  const { data: second } = (await nfts(`?limit=2&cursor=${first.next_cursor}`)).body
  t.strictSame([short(second.nfts), second.has_more], [all.slice(2), false])
  const altered = await nfts('?cursor=abc')
  t.strictSame([altered.status, altered.body.errors?.[0]?.field], [422, 'cursor'])
})
