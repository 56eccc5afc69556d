/** Which tokens are known to move exactly what they are told to. */
import t from 'tap'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { createExactTokens } from '../../src/swaps/contracts/exact-tokens.ts'
import { withExchanges } from '../support/exchanges.ts'
import { ALICE } from '../support/swap-stage.ts'
import { deploySwitchToken } from '../support/switch-token.ts'

const chain = await withExchanges(t)
const { contracts, chainId, url } = chain
const log = { warn: () => undefined, info: () => undefined, error: () => undefined }
const now = { ms: 1_000 }
const client = createRpcClient({ urls: [url], chainId, timeoutMs: 60_000, now: () => performance.now(), log })
t.teardown(client.close)
const tokens = createExactTokens(() => now.ms)
const isExact = (contract: string) => tokens.isExact(client, { chainId, contract })

t.test('the tokens of the sandbox are listed, also when their contracts were built again', async (t) => {
  for (const name of ['usdc', 'usdt', 'wrappedNative'] as const)
    t.equal(await isExact(contracts[name]), true, `${name}: list its new hash in exact-tokens.ts`)
})

t.test('a token with a switch for a fee, a proxy of a listed one, and an account are not listed', async (t) => {
  t.equal(await isExact((await deploySwitchToken(chain)).contract), false)
  // EIP-1167: what such a proxy runs never changes, that of others does; no proxy is listed.
  const proxy = `0x${'ab'.repeat(20)}`
  const code = `0x363d3d373d3d3d363d73${contracts.usdc.slice(2)}5af43d82803e903d91602b57fd5bf3`
  await callRpc(url, 'anvil_setCode', [proxy, code])
  t.equal(await isExact(proxy), false)
  t.equal(await isExact(ALICE), false)
})

t.test('a token that is not listed is looked at again after a minute, a listed one never', async (t) => {
  const late = `0x${'cd'.repeat(20)}`
  t.equal(await isExact(late), false)
  await callRpc(url, 'anvil_setCode', [late, await callRpc(url, 'eth_getCode', [contracts.usdt, 'latest'])])
  t.equal(await isExact(late), false)
  now.ms += 61_000
  t.equal(await isExact(late), true)
  await callRpc(url, 'anvil_setCode', [late, '0x'])
  now.ms += 61_000
  t.equal(await isExact(late), true)
})
