/** Judging a request now: which facts are asked for, what is recorded, and what a shadow adds. */

import t from 'tap'
import { encodeApprove } from '../../src/chain/erc20.ts'
import { JUDGED_KINDS } from '../../src/compose/capabilities.ts'
import type { Opening } from '../../src/core/registry.ts'
import { OPENINGS } from '../../src/declarations.ts'
import type { CompiledPolicy } from '../../src/policies/compile.ts'
import { createJudge } from '../../src/policies/judge.ts'
import type { SentRule } from '../../src/policies/sent-policy.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ALICE, BOB, CAROL, COLLECTION, ETH, factsOf, KEY, openingData, policyOf, USDC } from '../support/policies.ts'

const FACTS = factsOf()
const ASKING = { actor: `apikey:${KEY}` }
const deny = (id: string, recipient: string): SentRule => ({
  id,
  effect: 'deny',
  match: { recipients: { in: [recipient] } },
})
const limit = (id: string, count: number): SentRule => ({
  id,
  effect: 'limit',
  limit: { count, window_seconds: 3_600 },
})

/** Openings whose rules say that they move nothing, and that no API key requests. */
const UNJUDGED: readonly Opening[] = ['NonceFillRequested', 'CheckpointAnchorRequested', 'SwapGuardDeployRequested']

function judgeOf(active: CompiledPolicy | null, shadow: CompiledPolicy | null = null) {
  const asked: string[] = []
  const ports: Parameters<typeof createJudge>[0] = {
    kinds: JUDGED_KINDS,
    inForce: async () => ({ active, shadow, isSeeded: true }),
    async tagsOf(walletId) {
      asked.push(`tags ${walletId}`)
      return ['hot']
    },
    async assetsOf(tenantId, chainId) {
      asked.push(`assets ${tenantId} ${chainId}`)
      return { tokenOf: (contract) => FACTS.tokenOf(1, contract), priceOf: FACTS.priceOf }
    },
    async ownAmong(_owner, addresses) {
      asked.push(`own ${addresses.length}`)
      return new Set(addresses.filter(FACTS.isOwn))
    },
    async collectionsAmong(_tenantId, _chainId, contracts) {
      asked.push(`collections ${contracts.join(' ')}`)
      return new Set(contracts.filter((contract) => FACTS.isCollection(1, contract)))
    },
    isOwnSpender: FACTS.isOwnSpender,
  }
  return { asked, judge: createJudge(ports) }
}

t.test('nothing is asked and recorded where nothing is in force, nor for what no policy judges', async (t) => {
  const without = judgeOf(null)
  t.strictSame(await without.judge.transaction('TransferRequested', openingData(), ASKING), {})
  const { asked, judge } = judgeOf(policyOf([], { default: 'deny' }))
  for (const opening of UNJUDGED) t.strictSame(await judge.transaction(opening, openingData(), ASKING), {}, opening)
  t.strictSame([...without.asked, ...asked], [])
  t.strictSame(
    Object.entries(OPENINGS)
      .flatMap(([opening, { isUnjudged }]) => (isUnjudged === true ? [opening] : []))
      .sort(),
    [...UNJUDGED].sort(),
    'every other opening is judged',
  )
})

t.test('what judged a transfer is recorded: version, tags, and the prices of what moves and of its fee', async (t) => {
  const large: SentRule = { id: 'large', effect: 'deny', match: { amount_usd: { gte: '1000000000' } } }
  const { asked, judge } = judgeOf(policyOf([deny('no', BOB), large]))
  const { policy, reservations } = await judge.transaction('TransferRequested', openingData(), ASKING)
  t.strictSame(policy, {
    version: 7,
    tags: ['hot'],
    prices: [USDC, ETH].map(({ assetId }) => ({ assetId, ...FACTS.priceOf(assetId) })),
  })
  t.equal(reservations, undefined)
  const priceless = await judgeOf(policyOf([])).judge.transaction('TransferRequested', openingData(), ASKING)
  t.strictSame(priceless, { policy: { version: 7, tags: ['hot'] } }, 'no prices where no rule compares them')
  const shadow = judgeOf(policyOf([]), policyOf([large])).judge
  const shadowed = await shadow.transaction('TransferRequested', openingData(), ASKING)
  t.equal(shadowed.policy?.prices?.length, 2, 'a shadow compares them, too')
  t.strictSame(asked, ['tags wal_1', 'assets acme 1'], 'no rule asks whose wallet it is')
  await t.rejects(judge.transaction('TransferRequested', openingData({ to: BOB }), ASKING), {
    code: 'policy_denied',
    about: { environment: 'mainnet', walletId: 'wal_1' },
    details: { rule: 'no', version: 7, reason: 'denied' },
  })
})

t.test('whose wallets and collections they are is asked once, of all addresses', async (t) => {
  const own: SentRule = {
    id: 'inside',
    effect: 'deny',
    match: { actions: ['transfer'], recipients: { not_in: ['own_wallets'] } },
  }
  const { asked, judge } = judgeOf(policyOf([own]))
  await t.resolves(judge.transaction('TransferRequested', openingData({ to: CAROL }), ASKING))
  await t.rejects(judge.transaction('TransferRequested', openingData({ to: ALICE }), ASKING), { code: 'policy_denied' })
  t.equal(asked.filter((one) => one === 'own 1').length, 2)
  const call = openingData({ to: COLLECTION, data: encodeApprove(BOB, 5n), asset: ETH, amount: 0n })
  await t.resolves(judge.transaction('ContractCallRequested', call, ASKING))
  t.ok(asked.includes(`collections ${COLLECTION.toLowerCase()}`))
})

t.test('a shadow adds the counters that the active version lacks, which need no room, and reports', async (t) => {
  const metadata = { ...ASKING, tenantId: 'acme' }
  const shadow = {
    ...policyOf([limit('same', 1), { ...limit('own', 2), match: { actions: ['transfer'] } }, deny('no', ALICE)]),
    version: 8,
  }
  const { judge } = judgeOf(policyOf([limit('cap', 5)]), shadow)
  const asking = { ...ASKING, accepting: metadata }
  const { policy, reservations } = await judge.transaction('TransferRequested', openingData(), asking)
  t.match(policy, { version: 7, shadow: 8 })
  matchExactly(t, reservations, [
    { rule: 'cap', limit: 5n, mustFit: undefined },
    { rule: 'own', limit: 2n, mustFit: false },
  ])
  t.equal(reservations?.length, 2, 'the same is counted once')
  matchExactly(t, judge.shadowed(metadata), [{ version: 8, decision: { outcome: 'denied', refusal: { rule: 'no' } } }])
  t.strictSame(judge.shadowed(metadata), [], 'once')
  await judge.transaction('TransferRequested', openingData(), ASKING)
  t.strictSame(judge.shadowed(metadata), [], 'a preview reports nothing')
  const alone = judgeOf(null, shadow)
  t.match(await alone.judge.transaction('TransferRequested', openingData(), ASKING), {
    policy: { version: 0, shadow: 8 },
  })
  t.equal(await alone.judge.isActive({ tenantId: 'acme', environment: 'mainnet' }), false)
})

t.test('a change of an API key is about no wallet and counts towards no limit', async (t) => {
  const { asked, judge } = judgeOf(policyOf([limit('cap', 0)]))
  const request = { tenantId: 'acme', environment: 'mainnet', requestedAt: '2026-11-25T12:00:00.000Z' } as const
  t.strictSame(await judge.keyChange(request, ASKING), { policy: { version: 7, tags: [] } })
  t.strictSame(asked, [])
  const refusing = judgeOf(policyOf([{ id: 'keys', effect: 'deny', match: { actions: ['api_key_change'] } }]))
  await t.rejects(refusing.judge.keyChange(request, ASKING), {
    code: 'policy_denied',
    about: { walletId: null },
    details: { rule: 'keys' },
  })
})

t.test('a voucher is a mint, an export can move anything', async (t) => {
  const place = {
    tenantId: 'acme',
    environment: 'mainnet',
    walletId: 'wal_1',
    network: 'ethereum',
    chainId: 1,
  } as const
  const request = { ...place, requestedAt: '2026-11-25T12:00:00.000Z' }
  const mints = judgeOf(
    policyOf([{ id: 'mints', effect: 'deny', match: { actions: ['nft_mint'], recipients: { in: [ALICE] } } }]),
  )
  await t.rejects(
    mints.judge.voucher({ ...request, contract: COLLECTION, recipient: null }, ASKING),
    { code: 'policy_denied', details: { rule: 'mints' } },
    'for anybody',
  )
  await t.resolves(mints.judge.voucher({ ...request, contract: COLLECTION, recipient: BOB }, ASKING))
  const dollars = judgeOf(policyOf([{ id: 'cap', effect: 'limit', limit: { amount_usd: '5', window_seconds: 3_600 } }]))
  await t.rejects(dollars.judge.export(request, ASKING), {
    code: 'policy_denied',
    details: { rule: 'cap', reason: 'uncounted' },
  })
})
