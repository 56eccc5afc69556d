/** Policies, requests and facts for tests of policies. */

import { JUDGED_KINDS } from '../../src/compose/capabilities.ts'
import type { LimitedAsset, Match, Policy, Rule } from '../../src/core/policy.ts'
import { createValidatorCompiler } from '../../src/http/validation.ts'
import { compilePolicy } from '../../src/policies/compile.ts'
import type { Facts } from '../../src/policies/facts.ts'
import type { Judged, Intent as JudgedIntent, Price } from '../../src/policies/intent.ts'
import { readPolicy } from '../../src/policies/read-policy.ts'
import { policyBody } from '../../src/policies/schemas.ts'
import type { SentPolicy, SentRule } from '../../src/policies/sent-policy.ts'
import { judgedTransaction, type OpeningFacts } from '../../src/policies/transaction-intents.ts'
import type { AssetRef, Intent } from '../../src/transactions/intent.ts'

export const ETH: AssetRef = { assetId: 'eip155:1/slip44:60', symbol: 'ETH', decimals: 18, contract: null }
export const USDC: AssetRef = token('0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 'USDC', 6)
export const USDT: AssetRef = token('0xdAC17F958D2ee523a2206206994597C13D831ec7', 'USDT', 6)
export const WBTC: AssetRef = token('0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599', 'WBTC', 8)
export const ASSETS = [ETH, USDC, USDT, WBTC] as const

export const [ALICE, BOB, CAROL, MALLORY] = [
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
] as const
export const EXCHANGE = '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45'
export const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'
export const UNKNOWN = '0x1111111111111111111111111111111111111111'
export const COLLECTION = '0xBC4CA0EdA7647A8aB7C2061c2E118A18a936f13D'
export const KEY = 'key_0198c0de-7c3e-7b52-8d10-0f6c2f1d8a11'
export const NOON = '2026-11-25T12:00:00.000Z'
/** Of every asset, in US dollars. */
export const PRICES: Readonly<Record<string, string>> = {
  [ETH.assetId]: '2000.5',
  [USDC.assetId]: '1',
  [USDT.assetId]: '0.999',
}

function token(contract: string, symbol: string, decimals: number): AssetRef {
  return { assetId: `eip155:1/erc20:${contract}`, symbol, decimals, contract }
}

export function factsOf(more: Partial<Facts> = {}, at = NOON): Facts {
  const price = (assetId: string): Price | null => {
    const usd = PRICES[assetId]
    return usd === undefined ? null : { usd, at }
  }
  return {
    actor: `apikey:${KEY}`,
    tags: ['hot'],
    priceOf: price,
    tokenOf: (chainId, contract) =>
      chainId === 1 ? (ASSETS.find((asset) => asset.contract?.toLowerCase() === contract) ?? null) : null,
    isOwn: (address) => address === CAROL.toLowerCase(),
    isCollection: (_chainId, contract) => contract === COLLECTION.toLowerCase(),
    isOwnSpender: (_chainId, address) => address === EXCHANGE.toLowerCase(),
    ...more,
  }
}

export const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** The data of a transfer of 1 USDC to Alice, with other parts. */
export function openingData(parts: Partial<Intent> = {}): Intent {
  return {
    tenantId: 'acme',
    walletId: 'wal_1',
    network: 'ethereum',
    environment: 'mainnet',
    chainId: 1,
    from: WALLET,
    to: ALICE,
    asset: USDC,
    amount: 1_000_000n,
    data: null,
    dependsOn: null,
    subject: null,
    gasPriority: 'medium',
    reserved: { gasLimit: 65_000n, maxFeePerGas: 10n ** 9n },
    quote: null,
    referenceId: null,
    memo: null,
    validUntil: null,
    estimatedCompletionAt: NOON,
    requestedAt: NOON,
    ...parts,
  }
}

export function judgedOf(
  type: OpeningFacts['type'],
  parts: Partial<OpeningFacts['data']> = {},
  facts: Partial<Facts> = {},
) {
  const data = { ...openingData(), ...parts }
  return judgedTransaction(JUDGED_KINDS, { type, data }, factsOf(facts, data.requestedAt))
}

/** A contract call. */
export function judgedCall(
  to: string,
  data: string,
  parts: Partial<OpeningFacts['data']> = {},
  facts: Partial<Facts> = {},
) {
  return judgedOf('ContractCallRequested', { to, data, asset: ETH, amount: 0n, ...parts }, facts)
}

const validate = createValidatorCompiler()({ schema: policyBody, method: 'PUT', url: '/', httpPart: 'body' })

/** As a request is read: by the schema, and then by what the schema cannot say. @throws ValidationFailed */
export function readSent(sent: unknown): Policy {
  const result = validate(sent) as true | { readonly error?: unknown }
  if (result !== true && result.error !== undefined) throw result.error
  return readPolicy(sent as SentPolicy, (assetId) => ASSETS.find((asset) => asset.assetId === assetId) ?? null)
}

export function policyOf(rules: readonly SentRule[], more: Partial<SentPolicy> = {}) {
  return compilePolicy(readSent({ default: 'allow', ...more, rules }), 7)
}

/** A policy as it is recorded, which allows by default. */
export function recordedPolicy(...rules: readonly Rule[]): Policy {
  return { default: 'allow', maxPriceAgeSeconds: 3_600, lists: {}, rules }
}

export function denyRule(id: string, match: Match): Rule {
  return { id, effect: 'deny', description: null, match, onUnknownPrice: 'deny' }
}

/** A limit of the tenant, about all requests. @param amount base units */
export function capRule(asset: LimitedAsset, amount: bigint, windowSeconds: number): Rule {
  const limit = { of: 'asset', ...asset, amount: `${amount}`, windowSeconds, per: 'tenant' } as const
  return { id: 'cap', effect: 'limit', description: null, match: {}, onUnknownPrice: 'deny', limit }
}

const NAMES = Object.entries({
  ...{ alice: ALICE, bob: BOB, carol: CAROL, mallory: MALLORY, exchange: EXCHANGE, collection: COLLECTION },
  ...{ usdc: USDC.contract ?? '', multicall3: MULTICALL3, unknown: UNKNOWN },
})

/** `actions recipient spender contract method key amount` of each intent, with names of addresses; `-` for none. */
export function shown({ intents }: Judged): readonly string[] {
  const named = (value: unknown) =>
    NAMES.reduce((text, [name, address]) => text.replace(address.toLowerCase(), name), String(value ?? '-'))
  return intents.map(({ actions, recipient, spender, contract, method, moves }: JudgedIntent) =>
    [actions.join('+'), recipient, spender, contract, method, moves?.key, moves?.amount].map(named).join(' '),
  )
}
