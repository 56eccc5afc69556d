/** Nonces used by other programs with the same key, on a node without the state of old blocks, like full nodes. */
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import type { LoadWallet } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { PASS } from '../support/node-lies.ts'
import { reorganise } from '../support/reorganise.ts'
import { withNodeProxyBefore } from '../support/service-node-proxy.ts'
import { onChain, RECIPIENT, withStage } from '../support/service-stage.ts'
import { keyOf, payAsStranger } from '../support/wallet-key.ts'

const CHAIN_ID = 1000001
const SEED = Number(process.env.BURSAR_FAULT_SEED ?? Date.now() % 10_000)

const { node, before } = await withNodeProxyBefore(t)
/** Later than another program takes to use the nonce of a transaction that the node dropped. */
const REBROADCAST_AFTER_MS = '10000'
const stage = await withStage(t, { nodes: before, env: { REBROADCAST_AFTER_MS } })
const { service, rpc, mine, send, read, until, settle } = stage

/** From now on the node has no state of the blocks up to the present one. */
async function forgetStates(): Promise<void> {
  const head = Number(await rpc('eth_blockNumber'))
  const isOld = (block: unknown) => typeof block === 'string' && block.startsWith('0x') && Number(block) <= head
  const answer = { error: { code: -32_000, message: 'missing trie node' } }
  node.decide = (calls) =>
    calls.some(({ method, params }) => method === 'eth_getTransactionCount' && isOld(params[1]))
      ? { type: 'answer', method: 'eth_getTransactionCount', answer }
      : PASS
}

async function sendAndDrop(wallet: LoadWallet, amount: string): Promise<string> {
  const id = await send(wallet, amount)
  const { hash } = await until(wallet, id, 'submitted')
  await rpc('anvil_dropTransaction', hash)
  return id
}

/**
 * A third party gets an authorization of the wallet mined, which uses its nonce without a transaction of the wallet.
 */
async function authorize(wallet: LoadWallet, nonce: number): Promise<void> {
  const key = await keyOf(service, wallet.id)
  const { address, chainId, signature } = key.authorizeSync({ address: RECIPIENT, nonce, chainId: CHAIN_ID })
  const [sponsor] = (await rpc('eth_accounts')) as string[]
  const signed = { chainId: toQuantity(chainId), address, nonce: toQuantity(nonce) }
  const parts = { yParity: toQuantity(signature.yParity), r: signature.r, s: signature.s }
  const carrier = { from: sponsor, to: RECIPIENT, gas: '0x30d40', authorizationList: [{ ...signed, ...parts }] }
  await rpc('eth_sendTransaction', carrier)
  await mine()
}

t.test('a nonce used by an authorization is found without old states, beside one without any trace', async (t) => {
  const [hidden, wallet] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
  const unproven = await sendAndDrop(hidden, '0.000001')
  await rpc('anvil_setNonce', hidden.address, '0x1')
  const id = await sendAndDrop(wallet, '0.000002')
  await authorize(wallet, 0)
  t.equal(Number(await rpc('eth_getTransactionCount', wallet.address, 'latest')), 1, 'the authorization used nonce 0')
  await mine(6)
  await forgetStates()
  await until(wallet, id, 'requested', 'signed', 'submitted')
  for (;;) {
    await mine()
    const { state, nonce } = await read(wallet, id)
    if (state === 'confirmed') {
      t.equal(nonce, 1)
      break
    }
  }
  t.strictSame(
    (await onChain(stage, wallet)).map(({ nonce, amount }) => [nonce, amount]),
    [[1, 2n * 10n ** 12n]],
  )
  t.match(await read(hidden, unproven), { nonce: 0 }, 'without proof the nonce is not replaced')
  node.decide = () => PASS
  await rpc('anvil_setNonce', hidden.address, '0x0')
  await settle()
  t.equal((await onChain(stage, hidden)).length, 1)
})

t.test('an authorization with a later nonce has no effect: the transfer keeps its nonce', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  await authorize(wallet, 1)
  const ids = [await send(wallet, '0.000001'), await send(wallet, '0.000002')]
  await settle()
  const views = await Promise.all(ids.map((id) => read(wallet, id)))
  t.strictSame(
    views.map(({ state, nonce, hashes }) => [state, nonce, hashes.length]),
    [
      ['confirmed', 0, 1],
      ['confirmed', 1, 1],
    ],
  )
})

t.test('a nonce used while no follower ran, and whose state is pruned, is replaced', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await sendAndDrop(wallet, '0.000001')
  await service.stopWorker('chain-follower')
  await payAsStranger(stage, wallet)
  await mine(20)
  await forgetStates()
  await mine(6)
  await service.startWorker('chain-follower')
  await settle()
  t.match(await read(wallet, id), { state: 'confirmed', nonce: 1 })
  t.strictSame(
    (await onChain(stage, wallet)).map(({ amount }) => amount),
    [7n, 10n ** 12n],
  )
  node.decide = () => PASS
})

t.test(`beside another sender with reorgs, each transfer arrives at most once (${SEED})`, async (t) => {
  const random = createRandom(SEED)
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  // Deeper than the reorgs, which would otherwise remove the funds of the wallet.
  await mine()
  await mine()
  const ids: string[] = []
  let reorgs = 0
  for (let round = 0; round < 16; round += 1) {
    ids.push(await send(wallet, `0.0000${(round + 1).toString().padStart(2, '0')}`))
    const nonce = Number(await rpc('eth_getTransactionCount', wallet.address, 'latest'))
    // The pool may have our transaction with that nonce: theirs is then refused, as elsewhere.
    if (random.chance(0.6)) await payAsStranger(stage, wallet, nonce).catch(() => undefined)
    if (random.chance(0.7)) await mine()
    const branch = { depth: random.between(1, 2), again: random.chance(0.5) }
    // With empty blocks the new branch would equal the old one.
    if (random.chance(0.4))
      reorgs += await reorganise(stage.url, branch).then(
        () => 1,
        () => 0,
      )
  }
  await settle()
  t.comment(`${reorgs} reorgs`)
  const views = await Promise.all(ids.map((id) => read(wallet, id)))
  const amounts = (await onChain(stage, wallet)).map(({ amount }) => amount)
  for (const [index, { state, failure }] of views.entries()) {
    const times = amounts.filter((amount) => amount === BigInt(index + 1) * 10n ** 12n).length
    if (state === 'confirmed') t.equal(times, 1)
    else matchExactly(t, [state, failure?.code, times], ['failed', 'nonce_conflict_external', 0])
  }
})

t.end()
