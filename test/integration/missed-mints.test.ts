/** A mint in a block that the follower did not process, on a real chain: nothing but its transaction is recorded of it. */
import { Wallet } from 'ethers'
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { KINDS } from '../../src/compose/capabilities.ts'
import { createCommit } from '../../src/event-log/commit.ts'
import { encodeMint } from '../../src/nft/contracts/encode-calls.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { createResolveNonces } from '../../src/transactions/resolve-nonces.ts'
import { digestOf, strangerOf, withNftChain } from '../support/nft-chain.ts'
import { fold, golden, signed } from '../support/recorded-transactions.ts'

const KEY = new Wallet(`0x${'11'.repeat(32)}`)
const FEES = { maxFeePerGas: 50n * 10n ** 9n, maxPriorityFeePerGas: 2n * 10n ** 9n }
const SILENT_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

t.test('its success is told by its transaction, as no log of the contract is recorded', async (t) => {
  const { url, chainId, collection, alice } = await withNftChain(t)
  await callRpc(url, 'anvil_setBalance', [KEY.address, toQuantity(10n ** 20n)])
  const { address: standing } = await collection({ owner: KEY.address })
  const data = encodeMint('ERC721', 1n, { recipient: alice, amount: 1n, digest: digestOf(1) })
  const client = createRpcClient({ urls: [url], chainId, timeoutMs: 20_000, now: Date.now, log: SILENT_LOG })
  t.after(() => client.close())
  const effects: unknown[] = []
  for (const [nonce, to] of [standing, strangerOf(1)].entries()) {
    const raw = await KEY.signTransaction({ type: 2, chainId, nonce, to, data, gasLimit: 200_000n, ...FEES })
    const hash = (await callRpc(url, 'eth_sendRawTransaction', [raw])) as string
    await callRpc(url, 'anvil_mine', ['0x4'])
    const requested = golden('MintRequested')
    const state = fold([
      { ...requested, data: { ...requested.data, chainId, from: KEY.address, to, data } },
      { ...signed, data: { ...signed.data, nonce, hash } },
    ])
    const appended: { readonly events: readonly { readonly canonical: string }[] }[] = []
    const ports = {
      client,
      kinds: KINDS,
      reads: {
        contested: async () => [],
        quiet: async () => [{ id: 'tx_1', address: KEY.address, nonce }],
        ownSenders: async () => [{ address: KEY.address, signs: true }],
        byNonce: async () => [{ id: 'tx_1', assetId: requested.data.asset.assetId, index: 0 }],
      },
      log: {
        now: () => '2026-11-29T12:00:00.000Z',
        loadMany: async () => [{ id: 'tx_1', state, version: 2, hash: '' }],
        commit: createCommit(async ({ decisions }) => void appended.push(...decisions)),
      },
      walkedHash: async () => null,
      inTurn: (task: () => Promise<unknown>) => task(),
      settings: { chainId, network: 'ethereum' },
      logger: { warn: ({ err }: { readonly err: unknown }) => t.fail(String(err)) },
    } as unknown as Parameters<typeof createResolveNonces>[0]
    const head = Number(await callRpc(url, 'eth_blockNumber', []))
    await createResolveNonces(ports)(head - 1, 0, {} as never)
    const mined = appended.flatMap(({ events }) => events.map(({ canonical }) => JSON.parse(canonical).data))
    effects.push(...mined.map(({ effect }) => effect ?? null))
  }
  t.strictSame(effects, [null, 'missing'], 'a mint without a contract is still none')
})
