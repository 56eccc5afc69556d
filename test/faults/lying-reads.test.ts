/**
 * One of three nodes, the preferred one, lies for as long as the service runs about everything that it is asked beside blocks
 * and nonces: no invented money is told or spent, and what is signed costs what honest nodes say.
 */
import t from 'tap'
import { createFeeOracle } from '../../src/chain/fee-oracle.ts'
import { TAG_ROOM_WEI } from '../../src/chain/fees.ts'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { formatAmount } from '../../src/core/money.ts'
import { type Alter, withAlteredNode, withLastWord } from '../support/altered-node.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withStage } from '../support/service-stage.ts'

const INVENTED_WEI = 10n ** 24n
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

const thousandfold = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(thousandfold)
    : typeof value === 'string'
      ? `0x${(BigInt(value) * 1_000n).toString(16)}`
      : value

/** Another lie for each estimate in turn. */
const estimates = ['0x0', '0x1', '0xe4e1c0', '0xffffffffffff']
let estimated = 0

const LIES: Readonly<Record<string, (result: unknown) => unknown>> = {
  eth_getBalance: () => `0x${INVENTED_WEI.toString(16)}`,
  eth_call: (result) => withLastWord(result, INVENTED_WEI),
  eth_getCode: (result) => (result === '0x' ? '0x6001' : '0x'),
  eth_estimateGas: () => estimates[estimated++ % estimates.length],
  eth_gasPrice: thousandfold,
  eth_feeHistory(result) {
    const { baseFeePerGas, reward, ...rest } = result as Readonly<Record<string, unknown>>
    return { ...rest, baseFeePerGas: thousandfold(baseFeePerGas), reward: thousandfold(reward) }
  },
}
const lie: Alter = ({ method }, result) => LIES[method]?.(result) ?? result

const stage = await withStage(t, {
  async nodes(url) {
    const nodes = await Promise.all([0, 1, 2].map(() => withAlteredNode(t, () => url)))
    const [first] = nodes
    if (first !== undefined) first.alter = lie
    return nodes.map((node) => node.url)
  },
})
const { service, settle, send, read, until } = stage

async function honestFees(t: Parameters<typeof withAlteredNode>[0]) {
  const client = createRpcClient({ urls: [stage.url], chainId: 1000001, timeoutMs: 60_000, now: Date.now, log: SILENT })
  t.after(() => client.close())
  const { settings } = service.kernel.chains.all[0] ?? {}
  if (settings === undefined) throw new Error('one chain is configured')
  const policy = { ...settings, maxTipWei: settings.maxFeePerGasWei }
  return createFeeOracle({ client, policy, now: Date.now, refreshMs: 0, maxStaleMs: 0 }).quote()
}

t.test('what is signed costs what honest nodes say, in fees and in gas', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  await settle()
  const before = await honestFees(t)
  const id = await send(wallet, '0.001')
  const { hash } = await until(wallet, id, 'submitted')
  const sent = (await stage.rpc('eth_getTransactionByHash', hash)) as Readonly<Record<string, string>>
  t.equal(sent.gas, '0x5208')
  // Blocks between the two may have moved the base fee.
  const after: typeof before = await honestFees(t)
  for (const [name, one] of Object.entries(before.medium)) {
    const other = after.medium[name as keyof typeof after.medium]
    const [least, most] = one < other ? [one, other] : [other, one]
    const signed = BigInt(sent[name] ?? 0)
    t.ok(
      signed >= least - TAG_ROOM_WEI && signed <= most + TAG_ROOM_WEI,
      `${name} is ${signed}, and ${least} to ${most} without a tag`,
    )
  }
  await settle()
  t.match(await read(wallet, id), { status: 'confirmed' })
})

t.test('invented money is neither shown nor spent', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  await settle()
  const real = BigInt((await stage.rpc('eth_getBalance', wallet.address, 'latest')) as string)
  const { body } = await service.api.insist({ path: `/v1/wallets/${wallet.id}/balance` })
  t.equal(body.data.balance, formatAmount(real, 18))
  const refused = await service.api.insist({
    method: 'POST',
    path: `/v1/wallets/${wallet.id}/transfer`,
    key: 'spends-invented-money',
    body: { to: wallet.address, amount: '100000', asset: 'ETH' },
  })
  matchExactly(t, refused.body.errors, [{ type: 'insufficient_funds' }])
  const { rows } = await service.pool.query('SELECT balance FROM balances WHERE balance::numeric >= $1', [
    INVENTED_WEI.toString(),
  ])
  t.strictSame(rows, [])
})

t.end()
