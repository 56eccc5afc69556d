/** Whether contracts on a real chain can receive tokens. */
import t, { type Test } from 'tap'
import { createChainClients } from '../../src/chain/client-set.ts'
import { Unavailable } from '../../src/core/errors.ts'
import { createCanReceive, type Delivery } from '../../src/nft/contracts/receiver.ts'
import { strangerOf, withNftChain } from '../support/nft-chain.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const compiled = compileSolidity('Receivers.sol')
const ZERO_ADDRESS = `0x${'00'.repeat(20)}`

function canReceiveAt(t: Test, url: string) {
  const chain = {
    network: 'ethereum',
    environment: 'mainnet',
    chainId: 1000001,
    rpcUrls: [url],
    confirmations: 2,
    minTipWei: 1n,
    maxTipWei: 1_000_000_000_000n,
    maxFeePerGasWei: 10n ** 12n,
    pollIntervalMs: 20,
    multicall3Address: null,
    priceFeeds: {},
    tokens: [],
  } as const
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const clients = createChainClients({ chains: [chain], timeoutMs: 60_000, now: Date.now, log: silent })
  t.after(() => clients.close())
  const { client, code } = clients.get(chain)
  return createCanReceive(client, code)
}

t.test('accounts and receivers can, and every other contract cannot', async (t) => {
  const chain = await withNftChain(t)
  const names = ['NoReceiver', 'GoodReceiver', 'RevertingReceiver', 'WrongReceiver']
  const contracts: string[] = []
  for (const name of names) {
    const { abi, bytecode } = contractIn(compiled, name)
    contracts.push(await chain.deploy(abi, bytecode))
  }
  const canReceive = canReceiveAt(t, chain.url)
  for (const standard of ['ERC721', 'ERC1155'] as const) {
    const { address: contract } = await chain.collection({ standard })
    const deliveries = [strangerOf(1), ...contracts, chain.alice].map(
      (to): Delivery => ({
        standard,
        contract,
        operator: chain.owner,
        from: ZERO_ADDRESS,
        to,
        tokenId: 1n,
        amount: 1n,
      }),
    )
    t.strictSame(await canReceive(deliveries), [true, false, true, false, false, true], standard)
  }
  t.strictSame(await canReceive([]), [])
})

t.test('a node that does not answer causes no warning', async (t) => {
  const canReceive = canReceiveAt(t, 'http://127.0.0.1:9')
  const [operator, to] = [strangerOf(1), strangerOf(2)]
  const mint = {
    standard: 'ERC721',
    contract: strangerOf(3),
    operator,
    from: ZERO_ADDRESS,
    to,
    tokenId: 1n,
    amount: 1n,
  } as const
  await t.rejects(canReceive([mint]), Unavailable)
})
