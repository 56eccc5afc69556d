/** What counts towards the limits of an API key, and which limits another key may have. */
import t from 'tap'
import {
  type AskedLimit,
  changedLimits,
  isWithinLimits,
  type KeyLimit,
  newLimits,
  requestLimitsOf,
  rotatedLimits,
  spendLimitsOf,
  unfitLimits,
} from '../../src/core/key-limits.ts'
import { type Asked, bucketOf, reserve, roomIn, type SpendLimit } from '../../src/core/spend-limits.ts'
import { SCOPE_RULES } from '../../src/declarations.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-11-30T12:34:56.789Z'
const ether = {
  of: 'asset',
  assetId: 'eip155:1/slip44:60',
  symbol: 'ETH',
  decimals: 18,
  amount: '1000',
  windowSeconds: 86_400,
} as const
const usd = { of: 'usd', amount: '5000000', windowSeconds: 3_600 } as const
const count = { of: 'transactions', amount: '2', windowSeconds: 3_600 } as const
const on = <Limit extends object>(limit: Limit, counter = 'c') => ({ ...limit, counter })

const spend = (amount: bigint, more: Partial<Asked> = {}): Asked => ({
  assetId: ether.assetId,
  symbol: 'ETH',
  decimals: 18,
  amount,
  usd: '2000.5',
  isFee: false,
  ...more,
})
const token = (amount: bigint) =>
  spend(amount, { assetId: 'eip155:1/erc20:0x1', symbol: 'USDC', decimals: 6, usd: '1' })
const counted = (limits: readonly SpendLimit[], asked: readonly Asked[]) => {
  const reserved = reserve(limits, asked, NOW)
  return 'why' in reserved ? reserved : reserved.map(({ amount, kept, limit }) => [amount, kept, limit])
}

t.test('a bucket is a 96th of its window and holds each time once', (t) => {
  t.equal(bucketOf(NOW, 86_400), '2026-11-30T12:30:00.000Z')
  t.equal(bucketOf(NOW, 3_600), '2026-11-30T12:34:22.500Z')
  for (const seconds of [3_600, 3_660, 86_400, 2_678_400]) {
    const begin = Date.parse(bucketOf(NOW, seconds))
    t.equal(begin % ((seconds * 1_000) / 96), 0)
    t.ok(Date.parse(NOW) - begin < (seconds * 1_000) / 96)
    t.equal(bucketOf(new Date(begin).toISOString(), seconds), bucketOf(NOW, seconds))
  }
  t.end()
})

t.test('the amount, what a call takes and the fee count, and the fee stays spent', (t) => {
  t.strictSame(counted([on(ether)], [spend(7n, { isFee: true }), spend(10n)]), [[17n, 7n, 1000n]])
  t.strictSame(counted([on(count)], [spend(7n, { isFee: true }), spend(10n)]), [[1n, 1n, 2n]])
  const wei = 10n ** 15n
  t.strictSame(counted([on(usd)], [spend(wei), token(1_000_000n)]), [[3_000_500n, 0n, 5_000_000n]])
  t.strictSame(counted([on(usd)], [spend(1n), token(1n)]), [[2n, 0n, 5_000_000n]], 'each rounded up')
  t.end()
})

t.test('an asset that no limit is about cannot be spent, its fee can', (t) => {
  t.strictSame(counted([on(ether)], [token(1n)]), { symbol: 'USDC', why: 'no_limit' })
  t.strictSame(counted([on(ether), on(usd)], [token(1n)]), [[1n, 0n, 5_000_000n]])
  t.strictSame(counted([on(usd)], [{ ...token(1n), usd: null }]), { symbol: 'USDC', why: 'no_price' })
  t.strictSame(counted([on({ ...ether, assetId: 'eip155:1/erc20:0x1' })], [spend(5n, { isFee: true }), token(3n)]), [
    [3n, 0n, 1000n],
  ])
  t.strictSame(counted([on(count)], [token(1n)]), [[1n, 1n, 2n]], 'transactions alone limit no amount')
  t.end()
})

t.test('a new key has its own limits and those of its maker, on their counters', (t) => {
  const own = newLimits('key_1', [ether], [])
  matchExactly(t, own, [{ counter: 'key_1 eip155:1/slip44:60 86400', inherited: false }])
  const made = newLimits('key_2', [ether, count], own)
  matchExactly(t, made, [
    { counter: 'key_2 eip155:1/slip44:60 86400', inherited: false },
    { counter: 'key_2 transactions 3600', inherited: false },
    { counter: 'key_1 eip155:1/slip44:60 86400', inherited: true },
  ])
  t.ok(isWithinLimits(made, own))
  t.notOk(isWithinLimits(newLimits('key_3', [ether], []), own))
  const changed = changedLimits('key_9', [{ ...ether, amount: '2000' }], made)
  matchExactly(t, changed, [{ counter: made[0]?.counter, amount: '2000' }, made[2]], 'what was spent stays counted')
  t.ok(isWithinLimits(changed, own))
  t.notOk(isWithinLimits(changed, made))
  t.end()
})

t.test('own limits are about no asset that those of a maker leave out', (t) => {
  const own = newLimits('key_1', [ether], [])
  const within = (asked: readonly AskedLimit[], before = own) =>
    isWithinLimits(newLimits('key_2', asked, before), before)
  t.notOk(within([{ ...ether, assetId: 'eip155:1/erc20:0x1' }]))
  const [limit] = own as readonly [KeyLimit]
  t.notOk(isWithinLimits([limit, { ...limit, assetId: 'eip155:1/erc20:0x1' } as KeyLimit], own), 'on a known counter')
  t.notOk(isWithinLimits([{ ...limit, of: 'transactions' } as KeyLimit], own))
  t.notOk(within([{ of: 'usd', amount: '1', windowSeconds: 86_400 }]))
  t.ok(within([{ ...ether, windowSeconds: 3_600 }, count]))
  t.ok(within([ether], newLimits('key_1', [count], [])), 'transactions alone leave out nothing')
  t.ok(within([ether], newLimits('key_1', [{ of: 'usd', amount: '1', windowSeconds: 86_400 }], [])), 'nor do dollars')
  t.end()
})

const usdc = { ...ether, assetId: 'eip155:1/erc20:0x1', symbol: 'USDC', decimals: 6 }

t.test('what is spent is covered by the limits of each key of the chain', (t) => {
  const maker = newLimits('key_1', [usd], [])
  const made = newLimits('key_2', [ether], maker)
  t.strictSame(counted(spendLimitsOf(made), [token(1n)]), { symbol: 'USDC', why: 'no_limit' })
  t.strictSame(counted(spendLimitsOf(made), [spend(1n)]), [
    [1n, 0n, 1000n],
    [1n, 0n, 5_000_000n],
  ])
  const grandchild = newLimits('key_3', [usd], made)
  t.strictSame(counted(spendLimitsOf(grandchild), [token(1n)]), { symbol: 'USDC', why: 'no_limit' })
  t.strictSame(counted(spendLimitsOf(newLimits('key_3', [count], made)), [token(1n)]), {
    symbol: 'USDC',
    why: 'no_limit',
  })
  const [eth, token1] = [newLimits('key_1', [ether], []), newLimits('key_2', [usdc], [])]
  const crossed = [...eth, ...token1.map((limit) => ({ ...limit, inherited: true }))]
  for (const asked of [spend(1n), token(1n)])
    t.match(counted(spendLimitsOf(crossed), [asked]), { why: 'no_limit' }, 'each names another asset')
  t.end()
})

t.test('a key opens no other asset for itself within the limits of its maker', (t) => {
  const made = newLimits('key_2', [ether], newLimits('key_1', [usd], []))
  t.notOk(isWithinLimits(changedLimits('key_2', [ether, usdc], made), made))
  t.notOk(isWithinLimits(changedLimits('key_2', [ether, { ...usd, windowSeconds: 7_200 }], made), made))
  t.ok(isWithinLimits(changedLimits('key_2', [ether, { ...ether, windowSeconds: 7_200 }, count], made), made))
  const replaced = changedLimits('key_4', [ether, usdc], made)
  t.strictSame(
    replaced.map(({ counter }) => counter.split(' ')[0]),
    ['key_2', 'key_2', 'key_1'],
    'also for the key that replaces it: its limits are those of one holder',
  )
  t.notOk(isWithinLimits(replaced, made))
  t.end()
})

t.test('a key that replaces another has the lower amount of both', (t) => {
  const amountsOf = (limits: readonly KeyLimit[]) =>
    limits.map(({ counter, amount }) => `${counter.split(' ')[0]} ${amount}`)
  const maker = newLimits('key_1', [ether], [])
  const made = newLimits('key_2', [{ ...ether, amount: '900' }], maker)
  const lowered = changedLimits('key_1', [{ ...ether, amount: '400' }, count], maker)
  t.notOk(isWithinLimits(made, lowered))
  const replaced = rotatedLimits(made, lowered, { isMaker: true })
  t.strictSame(amountsOf(replaced), ['key_2 900', 'key_1 400', 'key_1 2'], 'with what its maker has got since')
  t.ok(isWithinLimits(replaced, lowered))
  t.strictSame(amountsOf(rotatedLimits(made, lowered, { isMaker: false })), ['key_2 900', 'key_1 400'])
  const raised = changedLimits('key_1', [{ ...ether, amount: '5000' }], maker)
  t.strictSame(amountsOf(rotatedLimits(made, raised, { isMaker: true })), ['key_2 900', 'key_1 1000'], 'never more')
  t.strictSame(rotatedLimits(made, [], { isMaker: false }), made)
  t.strictSame(rotatedLimits(made, made, { isMaker: false }), made)
  t.end()
})

t.test('a key that its former self replaces has each counter once, and may spend what both may', (t) => {
  const first = newLimits('key_1', [ether], [])
  const more = changedLimits('key_1', [ether, usdc], first)
  // key_1 replaced itself by key_2 before, and replaces that one by key_3.
  const third = rotatedLimits(first, more, { isMaker: true })
  const changed = changedLimits('key_3', [ether, { ...usdc, amount: '9' }], third)
  t.strictSame(
    changed.map(({ counter, amount }) => [counter, amount]),
    [
      [first[0]?.counter, '1000'],
      [more[1]?.counter, '9'],
    ],
  )
  for (const limits of [third, changed])
    for (const asked of [spend(1n), token(1n)]) t.ok(Array.isArray(counted(spendLimitsOf(limits), [asked])))
  t.end()
})

t.test('own limits that events before named after two keys must both cover what is spent, and open nothing', (t) => {
  // key_2 replaces key_1 and got the second limit later, on a counter of its own name.
  const own = [...newLimits('key_1', [count], []), ...newLimits('key_2', [ether], [])]
  t.ok(Array.isArray(counted(spendLimitsOf(own), [spend(1n)])))
  t.notOk(isWithinLimits(changedLimits('key_2', [count, ether, usdc], own), own))
  const two = [...newLimits('key_1', [ether], []), ...newLimits('key_2', [usdc], [])]
  for (const asked of [spend(1n), token(1n)]) t.match(counted(spendLimitsOf(two), [asked]), { why: 'no_limit' })
  const again = changedLimits('key_2', [ether, usdc], changedLimits('key_2', [], two))
  for (const asked of [spend(1n), token(1n)])
    t.ok(Array.isArray(counted(spendLimitsOf(again), [asked])), 'once they were taken away and given again')
  t.end()
})

t.test('requests a day are passed on as other limits, and no transaction reserves them', (t) => {
  const asked = { of: 'requests', amount: '100', windowSeconds: 86_400 } as const
  const own = newLimits('key_1', [asked], [])
  const made = newLimits('key_2', [{ ...asked, amount: '500' }], own)
  matchExactly(t, requestLimitsOf(made), [
    { counter: 'key_2 requests 86400' },
    { counter: 'key_1 requests 86400', amount: '100' },
  ])
  t.strictSame(spendLimitsOf(made), [])
  t.strictSame(counted(spendLimitsOf(newLimits('key_3', [ether], made)), [spend(1n)]), [[1n, 0n, 1000n]])
  t.ok(isWithinLimits(made, own))
  t.notOk(isWithinLimits(changedLimits('key_1', [{ ...asked, amount: '101' }], own), own))
  t.ok(isWithinLimits(changedLimits('key_1', [{ ...asked, amount: '99' }], own), own))
  t.equal(unfitLimits(own, ['signatures:write'], SCOPE_RULES), null, 'it limits no amount')
  t.ok(isWithinLimits(newLimits('key_2', [ether], own), own))
  t.end()
})

t.test('scopes that spend what no limit counts go with no limit of amounts', (t) => {
  const limits = newLimits('key_1', [ether], [])
  t.equal(unfitLimits(limits, ['transactions:write'], SCOPE_RULES), null)
  t.equal(unfitLimits(limits, ['signatures:write'], SCOPE_RULES)?.[0], 'limits_with_scope')
  t.equal(unfitLimits(newLimits('key_1', [count], []), ['signatures:write'], SCOPE_RULES), null)
  t.equal(unfitLimits(newLimits('key_1', [ether, ether], []), [], SCOPE_RULES)?.[0], 'duplicate')
  t.equal(
    unfitLimits(
      Array.from({ length: 51 }, (_, n) => newLimits(`key_${n}`, [ether], [])[0]).flatMap((one) =>
        one === undefined ? [] : [{ ...one, inherited: true }],
      ),
      [],
      SCOPE_RULES,
    )?.[0],
    'too_many',
  )
  t.end()
})

t.test('what is left grows when the oldest bucket leaves the window', (t) => {
  const limit = { amount: '100', windowSeconds: 3_600 }
  const bucket = (seconds: number) => bucketOf(new Date(Date.parse(NOW) + seconds * 1_000).toISOString(), 3_600)
  const room = (needed: bigint, ...spent: readonly (readonly [number, bigint])[]) =>
    roomIn(
      limit,
      spent.map(([seconds, amount]) => ({ bucket: bucket(seconds), amount })),
      { needed, now: NOW },
    )
  const freed = (seconds: number) => new Date(Date.parse(bucket(seconds)) + 3_637_500).toISOString()
  t.strictSame(room(1n), { left: 100n, roomAt: null })
  t.strictSame(room(40n, [-60, 30n], [-600, 30n]), { left: 40n, roomAt: null })
  t.strictSame(room(41n, [-60, 30n], [-600, 30n]), { left: 40n, roomAt: freed(-600) })
  t.strictSame(room(100n, [-60, 30n], [-600, 30n]), { left: 40n, roomAt: freed(-60) })
  t.strictSame(room(101n, [-60, 30n]), { left: 70n, roomAt: null }, 'it never fits')
  t.strictSame(room(1n, [-60, 30n], [-600, 90n]), { left: 0n, roomAt: freed(-600) }, 'above the limit')
  t.strictSame(room(100n, [-3_700, 100n]), { left: 100n, roomAt: null }, 'no longer counted')
  t.strictSame(room(1n, [600, 100n]), { left: 0n, roomAt: freed(600) }, 'by a clock that is ahead')
  t.end()
})
