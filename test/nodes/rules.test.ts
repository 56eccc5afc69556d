/**
 * What depends on the rules of a chain, on a real node: a factory of collections that nobody deployed before, and a recovery
 * kit, whose transactions no service estimates. LOCAL_NODE says which node: see sandbox-on-node.mjs.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { FACTORY_ADDRESS, STEP_FACTORY_ADDRESS } from '../../src/nft/contracts/collection.ts'
import { AS_LONG_AS_MAY_BE, newAddress, startSandbox } from '../support/e2e-sandbox.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const RECOVERY = fileURLToPath(new URL('../../dist/bin/recovery.js', import.meta.url))
const FEES = '--max-fee-per-gas 100000000000 --max-priority-fee-per-gas 1000000000'
const NETWORK = 'polygon'

const node = JSON.parse(process.env.LOCAL_NODE ?? '{}') as { readonly fork?: string }
const isAmsterdam = node.fork === 'amsterdam'
const sandbox = await startSandbox(t)

t.test('the first collection of a chain deploys the factory through the API, in steps since Amsterdam', async (t) => {
  const client = await sandbox.tenant('steps')
  const codeAt = async (address: string) => String(await sandbox.rpc(NETWORK, 'eth_getCode', [address, 'latest']))
  t.equal(await codeAt(FACTORY_ADDRESS), '0x')
  for (const standard of ['ERC721', 'ERC1155']) {
    const body = { name: `Steps ${standard}`, symbol: 'STP', standard, network: NETWORK }
    const created = await client.post('/v1/nft/collections/create', body, AS_LONG_AS_MAY_BE)
    t.match(created.body.data, { status: 'DEPLOYED' }, created.text)
    const { collection_id } = created.body.data
    const mint = { collection_id, recipient: newAddress(), metadata: { name: 'One' }, minting_type: 'DIRECT' }
    const minted = await client.post('/v1/nft/mint', mint, AS_LONG_AS_MAY_BE)
    t.equal(minted.status, 201, minted.text)
  }
  const [whole, steps] = [await codeAt(FACTORY_ADDRESS), await codeAt(STEP_FACTORY_ADDRESS)]
  t.strictSame([whole !== '0x', steps !== '0x'], [!isAmsterdam, isAmsterdam])
})

t.test(
  'a sweep by a recovery kit reaches an account that does not exist with the gas that the command names',
  async (t) => {
    const wallet = await sandbox.wallet(sandbox.client, NETWORK, { POL: '3' })
    const directory = join(sandbox.service.directory, 'kit')
    const identity = join(sandbox.service.directory, 'identity.txt')
    const env = { PATH: process.env.PATH, DATA_DIR: join(sandbox.service.directory, 'data') }
    const recovery = (...args: readonly string[]) => promisify(execFile)(process.execPath, [RECOVERY, ...args], { env })
    const { stdout } = await recovery('keygen', '--out', identity, '--json')
    await recovery('backup', '--out', directory, '--recipient', JSON.parse(stdout).recipient, '--part', 'hd')
    const chainId = String(sandbox.state.networks[NETWORK].chain_id)
    const sweep = async (to: string, nonce: number, gasLimit: number) => {
      const opened = ['--kit', directory, '--identity', identity, '--wallet', wallet.address, '--chain-id', chainId]
      const what = ['--to', to, '--value', '1', '--nonce', String(nonce), '--gas-limit', String(gasLimit), '--json']
      const swept = await recovery('sweep', ...opened, ...what, ...FEES.split(' '))
      const { raw_transaction: raw, warning } = JSON.parse(swept.stdout) as Record<string, string | null>
      const hash = await sandbox.rpc(NETWORK, 'eth_sendRawTransaction', [raw])
      const receipt = await eventually(() => sandbox.rpc(NETWORK, 'eth_getTransactionReceipt', [hash]))
      return { status: (receipt as { status: string }).status, warning }
    }
    t.match(await sweep(newAddress(), 0, 204_600), { status: '0x1', warning: null })
    const little = await sweep(newAddress(), 1, 21_000)
    t.equal(little.status, isAmsterdam ? '0x0' : '0x1')
    t.match(little.warning, /204600/, 'the command warns: it assumes the newest rules')
    t.match(await sweep(newAddress(), 2, 100_000), { status: isAmsterdam ? '0x0' : '0x1' })
  },
)
