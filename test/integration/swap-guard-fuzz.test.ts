/**
 * Random swaps through the guard, with any targets and any call data: nobody but the caller pays, no allowance of another
 * wallet changes, the caller pays at most the amount for at least the minimum, and nothing is left in the executor. The
 * same calls find the hole of a guard that makes the call of the route itself.
 */
import { Interface } from 'ethers/abi'
import t, { type Test } from 'tap'
import { EXECUTOR_ADDRESS, encodeGuardedSwap, GUARD_ADDRESS } from '../../src/swaps/contracts/guard.ts'
import { EXECUTOR_ABI } from '../../src/swaps/contracts/guard-artefact.ts'
import { type Transaction, withGuard } from '../support/guard-stage.ts'
import { createRandom, type Random } from '../support/load-random.ts'

const STEPS = 250
const SEED = Number(process.env.GUARD_SEED ?? 28)
const FOREVER = 2 ** 40
const PLENTY = 10n ** 24n
const ZERO = `0x${'00'.repeat(20)}`
const ANY = new Interface([
  'function transfer(address to, uint256 amount)',
  'function transferFrom(address from, address to, uint256 amount)',
  'function approve(address spender, uint256 amount)',
])

type Places = { readonly guard: string; readonly executor: string }

async function withFuzz(t: Test, inOne: boolean) {
  const stage = await withGuard(t)
  const coins = [
    await stage.deploy('HostileCoin', false),
    await stage.deploy('HostileCoin', true),
    await stage.deploy('HostileCoin', false),
  ] as const
  const router = await stage.deploy('HostileRouter')
  const pool = await stage.deploy('HostilePool')
  const witness = await stage.deploy('Witness')
  const whole = inOne ? (await stage.deploy('GuardInOne')).address : null
  const places: Places = { guard: whole ?? GUARD_ADDRESS, executor: whole ?? EXECUTOR_ADDRESS }
  const { wallets, agent } = stage
  const holders = [...wallets, pool.address, router.address, agent.address]
  await stage.prepare(...coins.flatMap((coin) => holders.map((holder) => coin.call('mint', holder, PLENTY))))
  for (const from of [stage.owner, ...wallets]) {
    await stage.send(from, { to: pool.address, data: '0x', value: 10n ** 18n })
    await stage.send(from, { to: agent.address, data: '0x', value: 10n ** 18n })
    for (const { address } of coins) {
      const { ok } = await stage.send(from, {
        to: address,
        data: ANY.encodeFunctionData('approve', [places.guard, PLENTY / 2n]),
      })
      if (!ok) throw new Error('a wallet approves the guard')
    }
  }
  // The third one keeps a tenth of each transfer.
  await stage.prepare(coins[2].call('turn', 1, false))
  const spenders = [places.guard, router.address, agent.address, ...(inOne ? [] : [places.executor]), ...wallets]
  const owners = [...wallets, places.executor]
  const look = async (): Promise<readonly Held[]> => {
    const call = witness.call(
      'look',
      owners,
      coins.map(({ address }) => address),
      spenders,
    )
    const words = Array.from((await stage.read(witness.abi, call, 'look')) as bigint[])
    const width = 1 + coins.length * (1 + spenders.length)
    return owners.map((owner, i) => heldOf(owner, words.slice(i * width, (i + 1) * width)))
  }
  const heldOf = (owner: string, [native = 0n, ...rest]: readonly bigint[]): Held => ({
    owner,
    native,
    coins: coins.map(({ address }, i) => {
      const [balance = 0n, ...allowances] = rest.slice(i * (1 + spenders.length), (i + 1) * (1 + spenders.length))
      return { address, balance, allowances }
    }),
  })
  return { ...stage, coins, router, pool, places, spenders, look }
}

type Fuzz = Awaited<ReturnType<typeof withFuzz>>
type Held = {
  readonly owner: string
  readonly native: bigint
  readonly coins: readonly {
    readonly address: string
    readonly balance: bigint
    readonly allowances: readonly bigint[]
  }[]
}

type Order = {
  readonly sold: string | null
  readonly bought: string | null
  readonly amount: bigint
  readonly minimum: bigint
  readonly target: string
  readonly spender: string
  readonly data: string
}

/** A call that somebody would make who wants what others have. */
function wildCall(fuzz: Fuzz, random: Random, caller: string, depth = 0): Transaction {
  const { wallets, coins, places, router, agent, pool } = fuzz
  const anyone = () => random.pick([...wallets, caller, places.guard, places.executor, router.address, agent.address])
  const coin = random.pick(coins).address
  const amount = BigInt(random.between(1, 1_000_000))
  const steal = () => ({
    to: coin,
    data: ANY.encodeFunctionData('transferFrom', [random.pick([...wallets, places.executor]), anyone(), amount]),
  })
  const value = random.chance(0.1) ? BigInt(random.between(1, 1_000)) : 0n
  switch (random.pick(['steal', 'steal', 'approve', 'transfer', 'nested', 'executor', 'agent', 'router', 'noise'])) {
    case 'steal':
      return steal()
    case 'approve':
      return { to: coin, data: ANY.encodeFunctionData('approve', [anyone(), random.chance(0.5) ? 0n : amount]) }
    case 'transfer':
      return { to: coin, data: ANY.encodeFunctionData('transfer', [anyone(), amount]) }
    case 'nested':
      return callOf(places, orderOf(fuzz, random, caller, depth + 1))
    case 'executor': {
      const run = [[coin, anyone(), steal().data], coin, ZERO, amount, caller]
      return { to: places.executor, data: EXECUTOR_ABI.encodeFunctionData('run', run), value }
    }
    case 'agent': {
      if (depth > 2) return steal()
      const steps = Array.from({ length: random.between(1, 3) }, () => wildCall(fuzz, random, caller, depth + 1))
      return agent.call(
        'act',
        steps.map((step) => [step.to, step.value ?? 0n, step.data]),
        false,
      )
    }
    case 'router':
      return router.call('swap', coin, random.pick(coins).address, amount, anyone(), pool.address)
    default:
      return {
        to: anyone(),
        data: `0x${random
          .between(0, 2 ** 32 - 1)
          .toString(16)
          .padStart(8, '0')}${'00'.repeat(32)}`,
        value,
      }
  }
}

function orderOf(fuzz: Fuzz, random: Random, caller: string, depth = 0): Order {
  const { coins, places, router, pool, agent, wallets } = fuzz
  const odd = [places.guard, places.executor, router.address, ...wallets]
  const asset = () => {
    const usual = random.chance(0.2) ? null : random.pick(coins).address
    return random.chance(0.95) ? usual : random.pick(odd)
  }
  const [sold, bought] = [asset(), asset()]
  const amount = BigInt(random.between(random.chance(0.05) ? 0 : 1, 1_000_000))
  const minimum = BigInt(random.between(1, random.chance(0.8) ? 3 : 1_000_000))
  const isHonest = random.chance(0.25)
  const { to: target, data } = isHonest
    ? router.call('swap', sold ?? ZERO, bought ?? ZERO, random.between(1, 1_000_000), caller, pool.address)
    : wildCall(fuzz, random, caller, depth)
  const spender = isHonest ? router.address : random.pick([router.address, agent.address, ...odd])
  return { sold, bought, amount, minimum, target, spender, data }
}

/** The same call data for both guards. */
function callOf({ guard }: Places, { spender, ...order }: Order): Transaction {
  return { ...encodeGuardedSwap({ ...order, deadline: FOREVER, spender }), to: guard }
}

/** What must not have happened. @param order `null` for a call of the caller's own, which may move what the caller has */
function wrongsOf(before: readonly Held[], after: readonly Held[], fee: bigint, { caller, order, ok, executor }: Step) {
  const wrongs: string[] = []
  for (const [i, was] of before.entries()) {
    const now = after[i] ?? was
    if (now.owner === executor) continue
    const isCaller = now.owner === caller
    const nativeLost = was.native - now.native - (isCaller ? fee : 0n)
    const mayPay = (asset: string | null) => (order !== null && asset === order.sold ? order.amount : 0n)
    if (isCaller && order === null) continue
    if (nativeLost > (isCaller ? mayPay(null) : 0n)) wrongs.push(`${now.owner} lost ${nativeLost} wei`)
    for (const [j, coin] of was.coins.entries()) {
      const { balance = 0n, allowances = [] } = now.coins[j] ?? {}
      if (coin.balance - balance > (isCaller ? mayPay(coin.address) : 0n))
        wrongs.push(`${now.owner} lost ${coin.balance - balance} of ${coin.address}`)
      const changed = allowances.filter((allowance, k) => allowance !== coin.allowances[k]).length
      if (changed > (isCaller && order?.sold === coin.address ? 1 : 0))
        wrongs.push(`allowances of ${now.owner} changed`)
      if (isCaller && ok && order?.bought === coin.address && balance - coin.balance < order.minimum)
        wrongs.push('less than the minimum')
    }
    if (isCaller && ok && order?.bought === null && -nativeLost < order.minimum) wrongs.push('less than the minimum')
  }
  return wrongs
}

type Step = { readonly caller: string; readonly order: Order | null; readonly ok: boolean; readonly executor: string }

/** Whether something of what a swap exchanged is left in the executor, or its spender may still take the sold token. */
function leftIn(held: Held | undefined, { sold, bought, spender }: Order, spenders: readonly string[]): boolean {
  const allowance = held?.coins.find(({ address }) => address === sold)?.allowances[spenders.indexOf(spender)] ?? 0n
  if (allowance !== 0n) return true
  const exchanged = held?.coins.filter(({ address }) => address === sold || address === bought) ?? []
  return held?.native !== 0n || exchanged.some(({ balance }) => balance !== 0n)
}

async function run(t: Test, inOne: boolean) {
  const fuzz = await withFuzz(t, inOne)
  const random = createRandom(SEED)
  const { wallets, places } = fuzz
  const found: string[] = []
  const counted = { swaps: 0, direct: 0, failed: 0 }
  let before = await fuzz.look()
  for (let i = 0; i < STEPS; i++) {
    const caller = random.pick(wallets)
    const order = random.chance(0.85) ? orderOf(fuzz, random, caller) : null
    // What lies in the executor goes to the caller, so that also a route which brings nothing succeeds.
    if (order !== null && random.chance(0.7)) {
      const coin = fuzz.coins.find(({ address }) => address === order.bought)
      await fuzz.prepare(coin?.call('mint', places.executor, 7) ?? { to: places.executor, data: '0x', value: 7n })
    }
    const direct = wildCall(fuzz, random, caller)
    const { ok, fee } = await fuzz.send(caller, order === null ? direct : callOf(places, order))
    const after = await fuzz.look()
    const wrongs = wrongsOf(before, after, fee, { caller, order, ok, executor: places.executor })
    if (ok && order !== null && !inOne && leftIn(after.at(-1), order, fuzz.spenders))
      wrongs.push('the executor kept something')
    found.push(...wrongs.map((wrong) => `step ${i} of seed ${SEED}: ${wrong}`))
    counted[ok ? (order === null ? 'direct' : 'swaps') : 'failed']++
    before = after
  }
  t.comment(JSON.stringify(counted))
  return { found, counted }
}

t.test(
  'whatever the target and its call data, nobody but the caller pays, and the caller has the minimum',
  async (t) => {
    const { found, counted } = await run(t, false)
    t.strictSame(found, [])
    t.ok(counted.swaps > STEPS / 5, 'many swaps succeeded')
  },
)

t.test('the same calls take from others where the contract that they approve makes the call', async (t) => {
  const { found } = await run(t, true)
  t.match(found.join('\n'), /lost \d+ of 0x/)
})
