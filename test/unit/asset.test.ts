/** Names of assets: precedence, refusals, and what a registration stores. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { assetAggregate } from '../../src/assets/aggregate.ts'
import type { AssetBooks } from '../../src/assets/asset-books.ts'
import { type AssetChain, createAssetIndex, type KnownAsset } from '../../src/assets/asset-index.ts'
import type { AssetEvent } from '../../src/assets/events.ts'
import { resolveAsset } from '../../src/assets/resolve-asset.ts'
import { tokenAsset } from '../../src/core/assets.ts'
import type { BursarError, ErrorItem } from '../../src/core/errors.ts'
import { decideOn, upcast } from '../../src/event-log/aggregate.ts'
import { givenOf } from '../support/given.ts'
import { matchExactly } from '../support/match-exactly.ts'

const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
const DAI = '0x6B175474E89094C44Da98b954EedeAC495271d0F'
const FAKE = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const NOW = '2026-11-21T12:00:00.000Z'

const ethereum: AssetChain = {
  network: 'ethereum',
  environment: 'mainnet',
  chainId: 1,
  tokens: [
    { symbol: 'USDC', address: USDC, decimals: 6 },
    { symbol: 'DAI', address: DAI, decimals: 18 },
  ],
}
const polygon: AssetChain = { network: 'polygon', environment: 'mainnet', chainId: 137, tokens: [] }

function registered(contract: string, symbol: string, decimals = 18): KnownAsset {
  return { ...tokenAsset(1, contract, symbol, decimals), name: symbol, source: 'registered' }
}

/** Resolves among assets known at first, and those that a second read finds. */
function resolver(first: readonly KnownAsset[] = [], later = first) {
  const books: AssetBooks = {
    open: async (_tenantId, chain, options) => createAssetIndex(chain, options?.fresh ? later : first),
  }
  return (name: string, chain = ethereum) => resolveAsset({ books }, 'acme', chain, name)
}

async function refusal(promise: Promise<unknown>): Promise<readonly Partial<ErrorItem>[]> {
  return promise.then(
    () => [{ code: 'accepted' }],
    (error: BursarError) => error.items,
  )
}

t.test('an asset is found by its symbol in any case, its contract, or its id', async (t) => {
  const resolve = resolver()
  for (const name of ['USDC', 'usdc', USDC, USDC.toLowerCase(), `eip155:1/erc20:${USDC}`]) {
    t.match(await resolve(name), { symbol: 'USDC', decimals: 6, contract: USDC, source: 'configured' }, name)
  }
  for (const name of ['ETH', 'eth', 'eip155:1/slip44:60'])
    t.match(await resolve(name), { symbol: 'ETH', contract: null }, name)
})

t.test('POL and its former name MATIC both mean the currency of polygon, and of no other network', async (t) => {
  const resolve = resolver()
  for (const name of ['POL', 'MATIC', 'matic']) t.match(await resolve(name, polygon), { symbol: 'POL', contract: null })
  matchExactly(t, await refusal(resolve('MATIC')), [{ code: 'unknown_asset' }])
})

t.test('an unknown asset is refused with the known assets and the closest symbol', async (t) => {
  const [item] = await refusal(resolver([registered(FAKE, 'WETH')])('USDCC'))
  t.match(item, { type: 'validation_error', field: 'asset', code: 'unknown_asset', message: /did you mean USDC\?/ })
  t.strictSame(item?.details, { assets: ['ETH', 'USDC', 'DAI', 'WETH'] })
  matchExactly(t, await refusal(resolver()(FAKE)), [{ code: 'unknown_asset' }])
  matchExactly(t, await refusal(resolver()(`eip155:1/erc20:${FAKE}`)), [{ code: 'unknown_asset' }])
})

t.test('a contract address with a wrong checksum is refused as such', async (t) => {
  matchExactly(t, await refusal(resolver()(USDC.replace('b8', 'B8'))), [{ code: 'bad_checksum', field: 'asset' }])
  matchExactly(t, await refusal(resolver()('0x12')), [{ code: 'invalid_address', field: 'asset' }])
})

t.test('a symbol of several assets is refused with the candidates; a contract tells them apart', async (t) => {
  const resolve = resolver([registered(FAKE, 'USDC', 9)])
  const [item] = await refusal(resolve('usdc'))
  t.match(item, { type: 'conflict', code: 'ambiguous_asset' })
  matchExactly(t, item?.details, {
    candidates: [{ contract_address: USDC, symbol: 'USDC' }, { contract_address: FAKE }],
  })
  t.match(await resolve(FAKE), { decimals: 9, source: 'registered' })
})

t.test('among symbols that differ by case alone the exact one is chosen', async (t) => {
  const resolve = resolver([registered(FAKE, 'usdc', 9)])
  t.match(await resolve('usdc'), { contract: FAKE })
  t.match(await resolve('USDC'), { contract: USDC })
  matchExactly(t, await refusal(resolve('Usdc')), [{ code: 'ambiguous_asset' }])
})

t.test('no token takes the name of the currency that pays for gas', async (t) => {
  t.match(await resolver([registered(FAKE, 'ETH')])('ETH'), { contract: null, source: 'native' })
  t.match(await resolver([registered(FAKE, 'eth')])('eth'), { contract: null, source: 'native' })
})

t.test(
  'an asset that the operator configured takes precedence over one a tenant registered for the same contract',
  async (t) => {
    const index = createAssetIndex(ethereum, [registered(USDC, 'FAKE', 2)])
    t.match(index.byContract(USDC), { symbol: 'USDC', decimals: 6 })
    t.strictSame(
      index.all.map(({ symbol }) => symbol),
      ['ETH', 'USDC', 'DAI'],
    )
  },
)

t.test('an asset that another process has just registered is found by a second query', async (t) => {
  const resolve = resolver([], [registered(FAKE, 'NEW')])
  t.match(await resolve('NEW'), { contract: FAKE })
  t.match(await resolve(FAKE), { symbol: 'NEW' })
})

function golden<Type extends AssetEvent['type']>(type: Type) {
  const file = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v1.json`, import.meta.url), 'utf8'))
  const event = upcast<AssetEvent>(assetAggregate.schemas, file.type, file.schema_version, file.data)
  return event as Extract<AssetEvent, { type: Type }>
}

t.test('an asset is registered once, and its row has what the contract returned', async (t) => {
  const event = golden('AssetRegistered')
  const unknown = { id: 'x', state: assetAggregate.initialState, version: 0, hash: '' }
  const context = { metadata: { tenantId: 'acme', actor: 'test' }, now: NOW }
  const made = decideOn(assetAggregate, unknown, { type: 'RegisterAsset', asset: event.data }, context)
  matchExactly(t, made?.readModels.rows, [
    {
      table: 'assets',
      row: { tenant_id: 'acme', symbol: 'USDC', decimals: 6, contract_address: FAKE, chain_id: 1000001, version: 1 },
    },
  ])
  t.equal(made && decideOn(assetAggregate, made.after, { type: 'RegisterAsset', asset: event.data }, context), null)
})

t.test('an asset is removed once, and may be registered again', async (t) => {
  const given = givenOf(assetAggregate)
  const [added, removed] = [golden('AssetRegistered'), golden('AssetRemoved')]
  const now = removed.data.removedAt
  const remove = { type: 'RemoveAsset', now } as const
  given(added).when(remove).expect(t, removed)
  t.match(given(added, removed).state, { status: 'removed', symbol: 'USDC', removedAt: now })
  given(added, removed).when(remove).expect(t)
  given().when(remove).expect(t)
  given(added, removed).when({ type: 'RegisterAsset', asset: added.data }).expect(t, added)
  t.strictSame(given(added, removed, added).state, given(added).state)
  const context = { id: 'x', tenantId: 'acme', version: 2, recordedAt: now }
  matchExactly(t, assetAggregate.project(given(added).state, given(added, removed).state, context).rows, [
    { table: 'assets', row: { removed_at: now } },
  ])
  matchExactly(t, assetAggregate.project(given(added, removed).state, given(added).state, context).rows, [
    { row: { removed_at: null } },
  ])
  t.equal(assetAggregate.opens?.(removed, { id: 'x', version: 2 }), null)
})
