/** Rehearsals of contracts that look at the code of their caller: a wallet has none, except where a node forces one on it. */
import t from 'tap'
import { rehearse } from '../../src/chain/rehearsal.ts'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { sendMined, withAnvil } from '../support/anvil.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withNodeProxy } from '../support/service-node-proxy.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'
import { ALICE as WALLET } from '../support/swap-stage.ts'

const BOB = '0x0000000000000000000000000000000000000b0b'
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const { bytecode, abi } = contractIn(compileSolidity('TwoFaces.sol'), 'TwoFaces')

const { url } = await withAnvil(t)
const node = await withNodeProxy(t, url)
const client = createRpcClient({ urls: [node.url], chainId: 1000001, timeoutMs: 30_000, now: Date.now, log })
t.teardown(client.close)
const { contractAddress } = await sendMined(url, { from: WALLET, data: bytecode })
const to = contractAddress ?? ''
await sendMined(url, { from: WALLET, to, value: '0x64' })
const trade = { to, data: abi.encodeFunctionData('trade'), value: 10n }

t.test('a contract that pays only callers with code is seen as it is on chain', async (t) => {
  const { native, hasCode } = await rehearse(client, WALLET, { steps: [trade] })
  t.equal(hasCode, false)
  t.equal(native.after - native.before, -10n)
  const held = async () => BigInt((await callRpc(url, 'eth_getBalance', [to, 'latest'])) as string)
  const before = await held()
  await sendMined(url, { from: WALLET, to, value: '0xa', data: trade.data })
  t.equal(await held(), before + 10n, 'it keeps what it gets')
})

const missing = { error: { code: -32601, message: 'the method eth_simulateV1 does not exist' } }
const large = { result: 'x'.repeat(2_000_000) }
for (const [what, answer] of [
  ['has no eth_simulateV1', missing],
  ['answers it with nonsense', large],
] as const)
  t.test(`a node that ${what} simulates with code at the wallet, and the result says so`, async (t) => {
    node.decide = () => ({ type: 'answer', method: 'eth_simulateV1', answer })
    const { native, hasCode } = await rehearse(client, WALLET, { steps: [trade] })
    t.equal(hasCode, true)
    t.equal(native.after - native.before, 10n)
    node.decide = () => ({ type: 'pass' })
  })

t.test('a value that the wallet does not have is a step that fails, not a request that fails', async (t) => {
  const { steps } = await rehearse(client, WALLET, { steps: [{ to: BOB, data: '0x', value: 10n ** 30n }] })
  matchExactly(t, steps, [{ success: false }])
})
