/** What the list of a wallet's tokens shows of metadata that another tenant wrote, on a real PostgreSQL. */
import t from 'tap'
import { ownershipAggregate } from '../../src/nft/ownership/aggregate.ts'
import { readWalletTokens } from '../../src/nft/ownership/read-wallet-tokens.ts'
import { NOW } from '../support/calls.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { ASYNC, RECIPIENT, withNftApi } from '../support/nft-api.ts'
import { ACME } from '../support/wallet-parts.ts'

const SCRIPT = 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'

t.test('an image inside of the metadata of a stranger is not in the list of a wallet', async (t) => {
  const { calls, collection, mint } = await withNftApi(t)
  const { collection_id, contract_address } = await collection()
  for (const image of ['https://example.com/1.png', SCRIPT, SCRIPT.replace('data:', 'DATA:')])
    await mint(collection_id, { metadata: { name: 'Gift', image } }, ASYNC)
  const moves = ['1', '2', '3'].map((tokenId) => ({ tokenId, from: null, to: RECIPIENT, amount: '1' }))
  const block = { chainId: TEST_CHAIN, contract: String(contract_address), blockNumber: 8, blockHash: '0xb8', moves }
  const command = { type: 'RecordMoves', blocks: [block], now: NOW } as const
  await calls.log.execute(ownershipAggregate, String(collection_id), command, { metadata: ACME })
  const imagesFor = async (tenantId: string) => {
    const query = { tenantId, chainId: TEST_CHAIN, address: RECIPIENT, limit: 10 }
    return (await readWalletTokens(calls.pool, query)).map(({ token_id, name, image }) => [token_id, name, image])
  }
  t.strictSame(await imagesFor('zenith'), [
    ['3', 'Gift', null],
    ['2', 'Gift', null],
    ['1', 'Gift', 'https://example.com/1.png'],
  ])
  t.strictSame((await imagesFor(ACME.tenantId))[1], ['2', 'Gift', SCRIPT], 'the tenant of the collection wrote it')
})
