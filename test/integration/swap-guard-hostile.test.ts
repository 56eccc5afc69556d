/**
 * Routers, pools and tokens that cheat, in all pairs, through the guard: the owner receives the minimum, or the transaction
 * fails and nothing moved but its gas. Counted by balances on the chain.
 */
import t from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import {
  EXECUTOR_ADDRESS,
  encodeGuardedSwap,
  GUARD_ADDRESS,
  type GuardedSwap,
} from '../../src/swaps/contracts/guard.ts'
import { EXECUTOR_ABI } from '../../src/swaps/contracts/guard-artefact.ts'
import { type Deployed, type Sent, WAYS, type Way, withGuard } from '../support/guard-stage.ts'

const AMOUNT = 1_000_000n
const OUT = 900_000n
const MINIMUM = 895_500n
const FOREVER = 2 ** 40
const ROLES = ['router', 'pool', 'sold', 'bought'] as const
type Role = (typeof ROLES)[number]
type Ways = Readonly<Partial<Record<Role, Way>>>
type Native = 'in' | 'out' | null

async function withMarket(t: Parameters<typeof withGuard>[0]) {
  const stage = await withGuard(t)
  const [wallet = ''] = stage.wallets
  const parts: Record<Role, Deployed> = {
    router: await stage.deploy('HostileRouter'),
    pool: await stage.deploy('HostilePool'),
    sold: await stage.deploy('HostileCoin', false),
    bought: await stage.deploy('HostileCoin', true),
  }
  const { router, pool, sold, bought } = parts
  const witness = await stage.deploy('Witness')
  const must = async (from: string, call: { to: string; data: string; value?: bigint }) => {
    const sent = await stage.send(from, call)
    if (!sent.ok) throw new Error(`${call.data} fails`)
  }
  await must(wallet, sold.call('mint', wallet, 10n ** 30n))
  await must(wallet, bought.call('mint', pool.address, 10n ** 30n))
  await must(wallet, { to: pool.address, data: '0x', value: 10n ** 18n })
  await must(wallet, sold.call('approve', GUARD_ADDRESS, 10n ** 30n))
  // What earlier uses of the same contracts left: they may take back what they pay.
  for (const { address } of [router, pool]) await must(wallet, bought.call('approve', address, 10n ** 30n))

  const swapOf = (native: Native): GuardedSwap => {
    const [from, to] = [native === 'in' ? null : sold.address, native === 'out' ? null : bought.address]
    const zero = `0x${'00'.repeat(20)}`
    const { data } = router.call('swap', from ?? zero, to ?? zero, OUT, wallet, pool.address)
    const spender = from === null ? null : router.address
    return {
      sold: from,
      bought: to,
      amount: AMOUNT,
      minimum: MINIMUM,
      deadline: FOREVER,
      target: router.address,
      spender,
      data,
    }
  }
  const look = async () => {
    const words = await stage.read(
      witness.abi,
      witness.call('look', [wallet, EXECUTOR_ADDRESS], [sold.address, bought.address], [router.address]),
      'look',
    )
    const [native = 0n, soldHeld = 0n, , boughtHeld = 0n, , ...executor] = Array.from(words as bigint[])
    return { native, sold: soldHeld, bought: boughtHeld, executor }
  }
  const turn = async (ways: Ways) => {
    await stage.prepare(...ROLES.map((role) => parts[role].call('turn', WAYS.indexOf(ways[role] ?? 'honest'), true)))
  }
  return { ...stage, ...parts, wallet, swapOf, look, turn, must }
}

type Market = Awaited<ReturnType<typeof withMarket>>
type Held = Awaited<ReturnType<Market['look']>>

/** What the wallet paid and received, without gas. */
async function swapOnce({ look, send, wallet, reasonOf }: Market, swap: GuardedSwap, known?: Held) {
  const before = known ?? (await look())
  const sent: Sent = await send(wallet, encodeGuardedSwap(swap))
  const after = await look()
  const native = after.native - before.native + sent.fee
  return {
    ...sent,
    after,
    reason: sent.ok || known !== undefined ? null : await reasonOf(wallet, encodeGuardedSwap(swap)),
    paid: swap.sold === null ? -native : before.sold - after.sold,
    received: swap.bought === null ? native : after.bought - before.bought,
    executor: after.executor,
  }
}

/** Every two parts of a swap of tokens, and of one of the native currency those that pay, with every two ways. */
function* pairsOf(native: Native): Generator<Ways> {
  const roles: readonly Role[] = native === null ? ROLES : ['router', 'pool']
  for (const [i, one] of roles.entries())
    for (const other of roles.slice(i + 1))
      for (const way of WAYS) for (const another of WAYS) yield { [one]: way, [other]: another }
}

t.test('the owner receives the minimum or the swap fails, with every pair of hostile parts', async (t) => {
  const market = await withMarket(t)
  // Whoever re-enters swaps again in the name of nobody, and asks the executor itself.
  for (const part of [market.router, market.pool, market.sold, market.bought]) {
    const { data } = encodeGuardedSwap(market.swapOf(null))
    await market.must(market.wallet, part.call('reenterBy', GUARD_ADDRESS, data))
  }
  const counted = { received: 0, failed: 0 }
  const seen = new Set<string>()
  const wrong: unknown[] = []
  let held = await market.look()
  for (const native of [null, 'in', 'out'] as const) {
    for (const ways of pairsOf(native)) {
      const key = JSON.stringify([native, ...ROLES.map((role) => ways[role] ?? 'honest')])
      if (seen.has(key)) continue
      seen.add(key)
      await market.turn(ways)
      const { ok, paid, received, executor, after } = await swapOnce(market, market.swapOf(native), held)
      held = after
      const right = ok ? received >= MINIMUM && paid <= AMOUNT : received === 0n && paid === 0n
      if (!right || executor.some((word) => word !== 0n)) wrong.push({ native, ways, ok, paid, received, executor })
      counted[ok ? 'received' : 'failed']++
    }
  }
  t.strictSame(wrong, [])
  t.comment(`${seen.size} swaps: ${counted.received} received the minimum, ${counted.failed} failed`)
  t.ok(counted.received > 30 && counted.failed > 200, 'both happened')
})

t.test('a target that pays only where the wallet has code gives nothing, and the swap fails', async (t) => {
  const market = await withMarket(t)
  await market.turn({ router: 'pays code only' })
  const swap = market.swapOf('in')
  const call = { ...encodeGuardedSwap(swap), from: market.wallet, value: '0xf4240', gas: '0x927c0' }
  // As a rehearsal does it: the wallet has code, here one that takes everything.
  const code = { [market.wallet]: { code: '0x00' } }
  t.match(await callRpc(market.url, 'eth_call', [call, 'latest', code]), /^0x/, 'the rehearsal is promised everything')
  t.match(await swapOnce(market, swap), { ok: false, paid: 0n, received: 0n, reason: 'Too little received' })
})

t.test('what a token keeps of what is sold is not asked for, and what a route leaves returns', async (t) => {
  const market = await withMarket(t)
  await market.turn({ sold: 'returns less' })
  t.match(await swapOnce(market, market.swapOf(null)), { ok: true, paid: AMOUNT, received: OUT })
  await market.turn({})
  const idle = { ...market.swapOf(null), target: market.bought.address, minimum: 1n }
  const { data } = market.bought.call('mint', EXECUTOR_ADDRESS, 5n)
  t.match(await swapOnce(market, { ...idle, data }), { ok: true, paid: 0n, received: 5n })
})

t.test('an allowance that a stranger had the executor give does not stop a token with the rules of USDT', async (t) => {
  const {
    bought: usdt,
    sold: other,
    router,
    pool,
    wallet,
    wallets,
    send,
    must,
    swapOf,
    prepare,
    read,
  } = await withMarket(t)
  const stranger = wallets[1] ?? ''
  await prepare(
    usdt.call('mint', wallet, AMOUNT),
    other.call('mint', pool.address, OUT),
    other.call('mint', stranger, 1n),
  )
  await must(stranger, other.call('approve', GUARD_ADDRESS, 1n))
  await prepare(usdt.call('mint', EXECUTOR_ADDRESS, 1n))
  const { data: approve } = usdt.call('approve', router.address, 5n)
  const trick = { sold: other.address, bought: usdt.address, amount: 1n, minimum: 1n, spender: router.address }
  const tricked = { ...trick, deadline: FOREVER, target: usdt.address, data: approve }
  t.ok((await send(stranger, encodeGuardedSwap(tricked))).ok)
  const allowance = usdt.call('allowance', EXECUTOR_ADDRESS, router.address)
  t.equal(await read(usdt.abi, allowance, 'allowance'), 5n)
  const { data } = router.call('swap', usdt.address, other.address, OUT, wallet, pool.address)
  await must(wallet, usdt.call('approve', GUARD_ADDRESS, 0n))
  await must(wallet, usdt.call('approve', GUARD_ADDRESS, AMOUNT))
  const swap = { ...swapOf(null), sold: usdt.address, bought: other.address, data }
  t.match(await send(wallet, encodeGuardedSwap(swap)), { ok: true })
  t.equal(await read(usdt.abi, allowance, 'allowance'), 0n, 'and nothing of it is left')
})

t.test('nobody but the guard runs the executor, and no swap is made inside of another', async (t) => {
  const { bought, sold, wallet, send, prepare, agent, swapOf, reasonOf } = await withMarket(t)
  const run = [[bought.address, bought.address, '0x'], sold.address, bought.address, 0n, wallet]
  const own = { to: EXECUTOR_ADDRESS, data: EXECUTOR_ABI.encodeFunctionData('run', run) }
  t.match(await send(wallet, own), { ok: false })
  t.equal(await reasonOf(wallet, own), 'OnlyGuard()')
  // What lies in the executor brings the minimum, and the swap inside would take what the outer one sells.
  await prepare(bought.call('mint', EXECUTOR_ADDRESS, 5n), { to: agent.address, data: '0x' })
  await send(wallet, { to: agent.address, data: '0x', value: 1n })
  const inner = { sold: null, bought: sold.address, amount: 1n, minimum: 1n, deadline: FOREVER, target: wallet }
  const call = encodeGuardedSwap({ ...inner, spender: null, data: '0x' })
  const { data } = agent.call('act', [[call.to, call.value, call.data]], true)
  const outer = encodeGuardedSwap({ ...swapOf(null), minimum: 5n, target: agent.address, data })
  t.match(await send(wallet, outer), { ok: false })
  t.equal(await reasonOf(wallet, outer), 'The route failed: a step failed')
})
