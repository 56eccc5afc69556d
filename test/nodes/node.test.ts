/**
 * A real node behind the service: how it words each refusal, a burst of transfers beyond the limits of its pool, and a
 * kill that loses its newest blocks. LOCAL_NODE says which node: see sandbox-on-node.mjs.
 */
import { randomBytes } from 'node:crypto'
import { Wallet } from 'ethers/wallet'
import t, { type Test } from 'tap'
import { provenBlock } from '../../src/chain/block-proof.ts'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import type { Raw } from '../../src/chain/transaction-bytes.ts'
import { recoveredAddress } from '../../src/keys/recovered-address.ts'
import { OWNER } from '../../src/sandbox/deploy.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { auditChain } from '../support/chain-audit.ts'
import { startSandbox } from '../support/e2e-sandbox.ts'
import { makeWallets, planTransfers, sendTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { untilSettled } from '../support/load-settle.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }
const GWEI = 10n ** 9n
const ETHER = 10n ** 18n
const TRANSFERS = 500
/** Some transfers are in blocks that the kill loses, others are not sent yet. */
const KILLED_AFTER = 150

const node = JSON.parse(process.env.LOCAL_NODE ?? '{}') as { readonly client?: string; readonly fork?: string }
const isGeth = node.client === 'geth'
const { service } = await startSandbox(t)
const { rpc_url: url, chain_id: chainId } = service.state().networks.ethereum

/** A key with 10 of the native currency, and its transactions. */
async function fundedSender() {
  const wallet = new Wallet(`0x${randomBytes(32).toString('hex')}`)
  const value = `0x${(10n * ETHER).toString(16)}`
  await callRpc(url, 'eth_sendTransaction', [{ from: OWNER, to: wallet.address, value }])
  await eventually(async () => BigInt(String(await callRpc(url, 'eth_getBalance', [wallet.address, 'latest']))) > 0n)
  const usual = { chainId, type: 2, to: OWNER, value: 1n, gasLimit: 21_000n, nonce: 0 }
  const fees = { maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: GWEI }
  const sign = (fields: object) => wallet.signTransaction({ ...usual, ...fees, ...fields })
  return { address: wallet.address, sign }
}

t.test('what the node says about a submission is understood', async (t) => {
  const { address, sign } = await fundedSender()
  const rpc = createRpcClient({ urls: [url], chainId, timeoutMs: 20_000, now: Date.now, log: SILENT })
  t.teardown(() => rpc.close())
  const outcomeOf = async (raw: string) => {
    const [submission] = await rpc.sendRawTransactions([raw])
    t.comment(`${submission?.outcome}: ${submission?.message}`)
    return submission?.outcome
  }
  const told = async (fields: object) => outcomeOf(await sign(fields))
  // It waits for nonce 0, so that the node still has it when the others come.
  const waiting = await sign({ nonce: 1 })
  t.equal(await outcomeOf(waiting), 'accepted', 'a nonce that is not next yet')
  t.equal(await outcomeOf(waiting), 'accepted', 'the same bytes again')
  t.equal(await told({ nonce: 1, value: 2n }), 'replacement_underpriced')
  t.equal(await told({ value: 100n * ETHER }), 'insufficient_funds')
  t.equal(await told({ gasLimit: 20_000n }), 'rejected', 'less gas than a transfer costs')
  t.equal(await told({ gasLimit: 300_000_000n, maxFeePerGas: GWEI }), 'rejected', 'more gas than a block has')
  t.equal(await told({ chainId: chainId + 1 }), 'rejected')
  t.equal(await outcomeOf('0x02c0'), 'rejected', 'no transaction')
  if (node.fork !== 'amsterdam')
    t.equal(await told({ gasLimit: (1n << 24n) + 1n }), 'rejected', 'more than EIP-7825 allows')
  if (isGeth) {
    t.equal(await told({ data: `0x${'00'.repeat(140_000)}`, gasLimit: 10_000_000n }), 'rejected', 'too much data')
    t.equal(await told({ maxPriorityFeePerGas: 0n }), 'fee_too_low', 'below the least tip of the pool')
    t.equal(await told({ maxFeePerGas: 60_000n * GWEI, gasLimit: 100_000n }), 'node_limit', 'above --rpc.txfeecap')
  }
  t.equal(await told({ nonce: 0 }), 'accepted')
  const count = async () => Number(await callRpc(url, 'eth_getTransactionCount', [address, 'latest']))
  await eventually(async () => (await count()) === 2)
  t.equal(await told({ nonce: 0, value: 3n }), 'nonce_too_low')
})

// Hardhat's node keeps nothing: after a restart it is another chain.
if (isGeth)
  t.test(`${TRANSFERS} transfers from one wallet are paid once each, although the node is killed`, async (t) => {
    const wallets = await makeWallets(service.api, ['ethereum'])
    // The kill loses what is not on disk: the funds of the wallet must not be among it.
    await restart(t, 'SIGTERM')
    const plan = { wallets, count: TRANSFERS, firstNumber: 0, spreadMs: 0, tokens: 0, impatient: 0 }
    const startedAt = performance.now()
    const answers = await sendTransfers(service.api, planTransfers(createRandom(1), plan))
    t.ok(answers.every(({ status }) => status === 202))
    const mined = async () => Number(await callRpc(url, 'eth_getTransactionCount', [wallets[0]?.address, 'latest']))
    await eventually(async () => (await mined()) >= KILLED_AFTER)
    await restart(t, 'SIGKILL')
    await untilSettled(() => service.state())
    t.comment(`${TRANSFERS} transfers in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`)
    matchExactly(t, await auditChain({ places: service.state(), wallets, answers }), {
      problems: [],
      accepted: TRANSFERS,
      once: TRANSFERS,
      lost: 0,
      doubled: 0,
    })
  })

// The header of block 0 is what the node was configured with.
t.test('all its blocks are proven by their hashes, and their senders by the signatures', async (t) => {
  const head = Number(await callRpc(url, 'eth_blockNumber'))
  let count = 0
  for (let number = 1; number <= head; number++) {
    const at = `0x${number.toString(16)}`
    const block = (await callRpc(url, 'eth_getBlockByNumber', [at, true])) as Raw & { readonly transactions: Raw[] }
    const receipts: Raw[] = []
    for (const { hash } of block.transactions)
      receipts.push((await callRpc(url, 'eth_getTransactionReceipt', [hash])) as Raw)
    const proof = provenBlock(block, block.transactions, receipts, recoveredAddress)
    const senders = proof.block?.transactions.map(({ from }) => from)
    if (proof.disproof !== null) t.fail(proof.disproof)
    else if (!block.transactions.every(({ from }, i) => from === senders?.[i])) t.fail(`the senders of block ${number}`)
    count += block.transactions.length
  }
  t.comment(`${head} blocks with ${count} transactions`)
  t.ok(count > 0)
})

async function restart(t: Test, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const name = 'anvil-ethereum'
  const pid = () => service.state().processes.find((one) => one.name === name)?.pid
  const head = async () => Number(await callRpc(url, 'eth_blockNumber'))
  const [before, last] = [pid(), await head()]
  t.ok(service.kill(name, signal))
  await eventually(() => pid() !== undefined && pid() !== before)
  t.comment(`${signal} at block ${last}; it is back at block ${await head()}`)
}
