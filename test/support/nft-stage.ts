/** Collections on a running service, and a chain that mines when the test requests it. */
import type { Test } from 'tap'
import { type ApiRequest, accepted, type Reply } from './client.ts'
import type { LoadWallet } from './load.ts'
import { type Stage, withStage } from './service-stage.ts'

/** An unlocked account of the chain that is not a wallet of the service. */
export const STRANGER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

export type StagedCollection = { readonly id: string; readonly contract: string }

export type NftStage = Stage & {
  readonly ask: (request: ApiRequest) => Promise<Reply>
  /** Deploys a collection of a wallet. */
  readonly collection: (wallet: LoadWallet, body?: object) => Promise<StagedCollection>
  /** Requests a mint; nothing is mined. */
  readonly mint: (collection: StagedCollection, recipient: string, body?: object) => Promise<void>
  /** Requests a transfer with a new idempotency key, and does not wait. */
  readonly transfer: (body: object, key?: string) => Promise<Reply>
  readonly readTransfer: (id: string) => Promise<Reply['body']['data']>
  /** `token owner amount` of every holder. */
  readonly owners: (collection: StagedCollection) => Promise<string[]>
  /** Sends a transaction of the foreign account in the next block. */
  readonly outside: (transaction: { readonly to: string; readonly data: string }) => Promise<unknown>
}

export async function withNftStage(t: Test): Promise<NftStage> {
  const stage = await withStage(t)
  const { service, rpc } = stage
  const ask = (request: ApiRequest) => service.api.insist({ prefer: 'respond-async', ...request })
  const { send: post } = service.api
  return {
    ...stage,
    ask,
    async collection(wallet, body = {}) {
      const request = { name: 'Example', symbol: 'EX', wallet_id: wallet.id, ...body }
      const { collection_id: id, contract_address: contract } = accepted(
        await post('/v1/nft/collections/create', request),
      )
      await stage.settle()
      return { id, contract }
    },
    async mint({ id }, recipient, body = {}) {
      const request = { collection_id: id, recipient, metadata: { name: 'One', image: 'https://example.com/1.png' } }
      accepted(await post('/v1/nft/mint', { ...request, ...body }))
    },
    transfer: (body, key) => post('/v1/nft/transfer', body, key),
    readTransfer: async (id) => (await ask({ path: `/v1/nft/transfers/${id}` })).body.data,
    async owners({ id }) {
      const { rows } = await service.pool.query<{ line: string }>(
        `SELECT concat_ws(' ', token_id, owner, amount) AS line FROM nft_owners
          WHERE collection_id = $1 AND amount > 0 ORDER BY token_id, owner`,
        [id],
      )
      return rows.map(({ line }) => line)
    },
    async outside(transaction) {
      const hash = await rpc('eth_sendTransaction', { from: STRANGER, gas: '0x7a120', ...transaction })
      await stage.mine()
      return hash
    },
  }
}
