/** Rehearsals on a real chain: calls as a wallet that leave no trace. */
import { AbiCoder, Interface } from 'ethers/abi'
import t, { type Test } from 'tap'
import { encodeTransfer } from '../../src/chain/erc20.ts'
import { balanceRead, rehearse } from '../../src/chain/rehearsal.ts'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { sendMined, withAnvil } from '../support/anvil.ts'
import { deployToken } from '../support/demo-token.ts'
import { withNodeProxy } from '../support/service-node-proxy.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const WALLET = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }
const ERC20 = new Interface(['function approve(address spender, uint256 amount)'])
const CALLEE = contractIn(compileSolidity('Callee.sol'), 'Callee')

for (const lacking of [null, 'eth_simulateV1'] as const)
  t.test(lacking === null ? 'rehearsals' : `rehearsals by a node without ${lacking}`, (t) => rehearsals(t, lacking))

async function rehearsals(t: Test, lacking: string | null) {
  const { url } = await withAnvil(t)
  const node = await withNodeProxy(t, url)
  const missing = { error: { code: -32601, message: 'the method does not exist' } }
  if (lacking !== null) node.decide = () => ({ type: 'answer', method: lacking, answer: missing })
  const client = createRpcClient({ urls: [node.url], chainId: 1000001, timeoutMs: 30_000, now: Date.now, log: SILENT })
  t.after(() => client.close())
  const [rich = ''] = (await callRpc(url, 'eth_accounts', [])) as string[]
  const token = await deployToken(url, { name: 'Test', symbol: 'TST', decimals: 6 })
  const { contractAddress } = await sendMined(url, { from: rich, data: CALLEE.bytecode })
  const callee = contractAddress ?? ''
  await callRpc(url, 'anvil_setBalance', [WALLET, '0xde0b6b3a7640000'])
  const mint = new Interface(['function mint(address to, uint256 amount)']).encodeFunctionData('mint', [WALLET, 1000])
  await sendMined(url, { from: rich, to: token, data: mint })
  const step = (to: string, data: string, value = 0n) => ({ to, value, data })
  const called = (name: string, args: readonly unknown[]) => CALLEE.abi.encodeFunctionData(name, args)

  t.test('makes steps that build on each other, and keeps nothing of them', async (t) => {
    const steps = [
      step(token, ERC20.encodeFunctionData('approve', [callee, 300])),
      step(callee, called('pull', [token, 300])),
      step(callee, called('pay', [BOB]), 5n),
    ]
    const reads = [balanceRead(token, WALLET), balanceRead(BOB, WALLET)]
    for (const _ of [1, 2]) {
      const { steps: outcomes, native, reads: words } = await rehearse(client, WALLET, { steps, reads })
      t.strictSame(
        outcomes.map(({ success }) => success),
        [true, true, true],
      )
      t.ok(outcomes.every(({ gas }) => gas > 2_000n && gas < 200_000n))
      t.strictSame(words, [{ before: 1000n, after: 700n }, null], 'an account without code returns no word')
      t.strictSame(native, { before: 10n ** 18n, after: 10n ** 18n - 5n })
    }
  })

  t.test('stops at the first step that fails, with its revert data', async (t) => {
    const steps = [step(token, encodeTransfer(BOB, 1n)), step(callee, called('refuse', [false])), step(BOB, '0x')]
    const rehearsed = await rehearse(client, WALLET, { steps, reads: [balanceRead(token, WALLET)] })
    t.equal(rehearsed.steps.length, 2)
    t.equal(rehearsed.steps[1]?.success, false)
    t.equal(CALLEE.abi.parseError(rehearsed.steps[1]?.data ?? '')?.name, 'Refused')
    t.strictSame(rehearsed.reads, [{ before: 1000n, after: 999n }])
  })

  t.test('answers whatever a called contract does with its gas and its return data', async (t) => {
    const looped = await rehearse(client, WALLET, {
      steps: [step(callee, called('loop', []))],
      reads: Array.from({ length: 32 }, () => balanceRead(token, WALLET)),
    })
    t.equal(looped.steps[0]?.success, false)
    t.equal(looped.reads.length, 32)
    t.ok(looped.reads.every((read) => read?.after === 1000n))
    const [large] = (await rehearse(client, WALLET, { steps: [step(callee, called('large', [100_000]))] })).steps
    t.equal(large?.size, 100_064)
    t.equal(large?.data.length, 2 + 2 * 16_384)
  })

  t.test('a wallet takes what contracts send to it, and calls of itself do nothing', async (t) => {
    const receive = new Interface(['function onERC721Received(address,address,uint256,bytes) returns (bytes4)'])
    const data = receive.encodeFunctionData('onERC721Received', [BOB, BOB, 1, '0x'])
    const own = await rehearse(client, WALLET, { steps: [step(WALLET, data), step(WALLET, '0xdeadbeef', 1n)] })
    const selector = AbiCoder.defaultAbiCoder().encode(['bytes4'], ['0x150b7a02'])
    t.equal(own.steps[0]?.data, lacking === null ? '0x' : selector, 'only with code it answers')
    t.strictSame([own.steps[1]?.success, own.steps[1]?.data], [true, '0x'])
  })

  t.end()
}
