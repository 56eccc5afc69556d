/** Blocks of transfers on a local chain, without the service. */
import { toQuantity } from '../../src/chain/hex.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'

/** An unlocked account of every anvil. */
const SENDER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

/**
 * One block with a transfer of one wei to each of these.
 *
 * @throws Error when the node refuses a transfer
 */
export async function mineTransfers(url: string, recipients: readonly string[]): Promise<void> {
  const first = Number(await callRpc(url, 'eth_getTransactionCount', [SENDER, 'pending']))
  const requests = recipients.map((to, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'eth_sendTransaction',
    params: [{ from: SENDER, to, value: '0x1', gas: '0x5208', nonce: toQuantity(first + id) }],
  }))
  const body = JSON.stringify(requests)
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const answers = (await response.json()) as { error?: { message: string } }[]
  const refused = answers.find(({ error }) => error !== undefined)
  if (refused) throw new Error(`the node refused a transfer: ${refused.error?.message}`)
  await callRpc(url, 'evm_mine')
}
