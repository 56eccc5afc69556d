/**
 * A restore while a node is wrong: about a nonce, so that a gap hides a forgotten transaction, or about the fees in a block,
 * so that the transaction seems to have no tag and not the hash of its bytes. Each request is paid once.
 */
import t, { type Test } from 'tap'
import { type Alter, type AlteredNode, withAlteredNode } from '../support/altered-node.ts'
import type { LoadWallet } from '../support/load.ts'
import { withLosableServer } from '../support/postgres-copy.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, RECIPIENT, withStage } from '../support/service-stage.ts'

type Sent = { readonly from: string; readonly maxPriorityFeePerGas?: string }

let node: AlteredNode | null = null

/** @param change of the result of a call; by default none */
function alter(change: Alter = (_call, result) => result): void {
  if (node !== null) node.alter = change
}

const server = await withLosableServer(t)
const stage = await withStage(t, {
  databaseUrl: server.url,
  async nodes(url) {
    node = await withAlteredNode(t, () => url)
    return [node.url]
  },
  env: { RPC_TIMEOUT_MS: '60000' },
})
const { service } = stage

async function putBack(copy: string, wallet: LoadWallet): Promise<void> {
  await server.kill()
  await server.restore(copy)
  await eventually(async () => (await service.api.insist({ path: `/v1/wallets/${wallet.id}` })).status === 200)
}

async function paidOnce(t: Test, wallet: LoadWallet, id: string, wei: bigint): Promise<void> {
  await stage.settle()
  const payments = (await onChain(stage, wallet)).filter(({ amount }) => amount === wei)
  t.equal(payments.length, 1, 'it is paid once')
  t.match(await stage.read(wallet, id), { state: 'confirmed', hash: payments[0]?.hash })
}

t.test('a forgotten transaction that filled a gap in the nonces is waited for', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  alter(({ method }, result) => (method === 'eth_getTransactionCount' ? '0x1' : result))
  const above = await stage.send(wallet, '0.000001', RECIPIENT)
  t.match(await stage.until(wallet, above, 'submitted'), { nonce: 1 })
  alter()
  await service.stopWorker('signer')
  const id = await stage.send(wallet, '0.000777')
  const copy = await server.copy()
  await service.startWorker('signer')
  t.match(await stage.until(wallet, id, 'submitted'), { nonce: 0 })
  await service.stopWorker('chain-follower')
  await stage.mine()
  const held = service.lines.length
  await putBack(copy, wallet)
  await eventually(() => service.lines.slice(held).some(({ msg }) => String(msg).startsWith('lane held')))
  await service.startWorker('chain-follower')
  await paidOnce(t, wallet, id, 777n * 10n ** 12n)
})

t.test(
  'a forgotten transaction is not paid again while its block says other fees of it, and settles when that ends',
  async (t) => {
    const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
    await service.stopWorker('signer')
    const id = await stage.send(wallet, '0.000555')
    const copy = await server.copy()
    await service.startWorker('signer')
    await stage.until(wallet, id, 'submitted')
    await stage.mine()
    await stage.until(wallet, id, 'mined')
    let lies = 0
    alter(({ method, params }, result) => {
      if (method !== 'eth_getBlockByNumber' || params[1] !== true || result === null) return result
      const block = result as { readonly transactions: readonly Sent[] }
      const transactions = block.transactions.map((sent) => {
        if (sent.from.toLowerCase() !== wallet.address.toLowerCase()) return sent
        lies += 1
        return { ...sent, maxPriorityFeePerGas: `0x${(BigInt(sent.maxPriorityFeePerGas ?? 0) ^ 1n).toString(16)}` }
      })
      return { ...block, transactions }
    })
    const held = service.lines.length
    await putBack(copy, wallet)
    const isHeld = () => service.lines.slice(held).some(({ msg }) => String(msg).startsWith('lane held'))
    await eventually(() => lies > 0 && isHeld())
    alter()
    await paidOnce(t, wallet, id, 555n * 10n ** 12n)
  },
)

t.end()
