/** What a lane accepts from a signer: only bytes of its own address, whatever key the signer has. */
import t from 'tap'
import { signUnder } from '../../src/transactions/sign-batch.ts'

const ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const OTHER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const LANE = { chainId: 1, address: ADDRESS }
const ITEM = {
  loaded: { id: 'tx_1' },
  wallet: {
    walletId: 'wal_1',
    tenantId: 'acme',
    type: 'hd',
    network: 'ethereum',
    environment: 'mainnet',
    chainId: 1,
    address: ADDRESS,
    key: { kind: 'hd', tenantId: 'acme', index: 0 },
  },
  call: { to: OTHER, value: 1n, data: '0x' },
  fees: { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n },
} as const

async function sentBy(sender: string | null) {
  const refused: string[][] = []
  const signed = await signUnder(
    {
      signer: { signTransactions: async () => [{ hash: '0x1', rawTransaction: '0x02', sender }] },
      clock: () => 0,
      onRefused: (id, reason) => refused.push([id, reason]),
    },
    LANE,
    [ITEM],
    [7],
  )
  return { nonces: signed.map(({ bytes }) => bytes.nonce), refused }
}

t.test('bytes signed by another address, or by none, are neither recorded nor sent', async (t) => {
  t.strictSame(await sentBy(ADDRESS.toLowerCase()), { nonces: [7], refused: [] })
  t.match(await sentBy(OTHER), {
    nonces: [],
    refused: [['tx_1', /check that this is the keystore that created the wallet/]],
  })
  t.match(await sentBy(null), { nonces: [], refused: [['tx_1', /bytes of another transaction/]] })
})
