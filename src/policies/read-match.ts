/** Reads the conditions of a rule into their normalised form. Every problem is noted with its field, the rule and what to do. */
import { parseFragment } from '../chain/abi-fragment.ts'
import { parseAddress } from '../chain/address.ts'
import { fieldPath } from '../core/field-path.ts'
import { adviceFor, type Mistakes, type Path } from '../core/mistakes.ts'
import { parseAmount } from '../core/money.ts'
import {
  type Among,
  type Bounds,
  DAYS,
  type LimitedAsset,
  MAX_ITEMS,
  type Match,
  OWN_WALLETS,
  type TimeWindow,
} from '../core/policy.ts'
import { USD_DECIMALS } from '../core/spend-limits.ts'
import { assetKey } from './intent.ts'
import { isTimeZone } from './local-time.ts'
import type { SentAmong, SentBounds, SentMatch } from './sent-policy.ts'

/** What readers of a policy share. */
export type Reading = {
  readonly mistakes: Mistakes
  /** Names of the lists of the policy. */
  readonly lists: readonly string[]
  /** Finds an asset that the tenant may name, by its id. */
  readonly assetOf: (assetId: string) => LimitedAsset | null
}

type ReadItem = (item: string, path: Path) => string | undefined

export function readMatch(sent: SentMatch, reading: Reading, path: Path): Match {
  const { actions, networks, typed_data: typed, unlimited, slippage_bps: slippage, time } = sent
  const among = (part: SentAmong | undefined, name: string, read: ReadItem) =>
    readAmong(part, reading, [...path, name], read)
  const plain: ReadItem = (item) => item
  const address = addressOrList(reading)
  const typedData = {
    ...named('primaryTypes', readAmong(typed?.primary_types, reading, [...path, 'typed_data', 'primary_types'], plain)),
    ...named(
      'verifyingContracts',
      readAmong(typed?.verifying_contracts, reading, [...path, 'typed_data', 'verifying_contracts'], address),
    ),
    ...named('chainIds', typed?.chain_ids === undefined ? undefined : sortedOnce(typed.chain_ids, (a, b) => a - b)),
  }
  return {
    ...named('actions', actions === undefined ? undefined : sortedOnce(actions)),
    ...named('networks', networks === undefined ? undefined : sortedOnce(networks)),
    ...named('wallets', among(sent.wallets, 'wallets', plain)),
    ...named('walletTags', among(sent.wallet_tags, 'wallet_tags', plain)),
    ...named('apiKeys', among(sent.api_keys, 'api_keys', plain)),
    ...named('assets', among(sent.assets, 'assets', assetId(reading))),
    ...named('buys', among(sent.buys, 'buys', assetId(reading))),
    ...named('recipients', among(sent.recipients, 'recipients', addressOrList(reading, [OWN_WALLETS]))),
    ...named('contracts', among(sent.contracts, 'contracts', address)),
    ...named('spenders', among(sent.spenders, 'spenders', address)),
    ...named('methods', among(sent.methods, 'methods', selector(reading))),
    ...named('typedData', typed === undefined ? undefined : typedData),
    ...named('amount', readAmount(sent.amount, reading, [...path, 'amount'])),
    ...named('amountUsd', readBounds(sent.amount_usd, USD_DECIMALS, reading, [...path, 'amount_usd'])),
    ...named('unlimited', unlimited),
    ...named('slippageBps', slippage),
    ...named('time', time === undefined ? undefined : readTime(time, reading, [...path, 'time'])),
  }
}

function named<Name extends string, Value>(name: Name, value: Value | undefined): { readonly [N in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [N in Name]: Value })
}

function sortedOnce<Item>(items: readonly Item[], compare?: (a: Item, b: Item) => number): readonly Item[] {
  return [...new Set(items)].sort(compare)
}

function readAmong(sent: SentAmong | undefined, { mistakes }: Reading, path: Path, read: ReadItem): Among | undefined {
  if (sent === undefined) return undefined
  const { in: wanted, not_in: unwanted } = sent
  const items = wanted ?? unwanted
  if (items === undefined || (wanted !== undefined && unwanted !== undefined)) {
    mistakes.note(path, 'invalid', 'must have either in or not_in: leave the other one out')
    return undefined
  }
  const [name, place] = wanted === undefined ? (['notIn', 'not_in'] as const) : (['in', 'in'] as const)
  if (items.length > MAX_ITEMS) {
    const rule = `must have at most ${MAX_ITEMS} items, not ${items.length}: put addresses into a list of the policy, and name the list`
    mistakes.note([...path, place], 'too_many', rule)
    return undefined
  }
  const values = items.flatMap((item, n) => read(item, [...path, place, n]) ?? [])
  return { [name]: sortedOnce(values) } as Among
}

function addressOrList({ lists, mistakes }: Reading, builtIn: readonly string[] = []): ReadItem {
  const known = [...lists, ...builtIn]
  return (item, path) => {
    if (known.includes(item)) return item
    if (item.startsWith('0x')) return mistakes.attempt(() => parseAddress(item, fieldPath(path)))
    const advice = adviceFor(
      item,
      known,
      `add it to lists, or send an address${builtIn.length > 0 ? ` or ${builtIn.join()}` : ''}`,
    )
    mistakes.note(path, 'not_allowed', `is no list of the policy: ${advice}`)
    return undefined
  }
}

function assetId({ mistakes }: Reading): ReadItem {
  return (item, path) => {
    if (assetKey(item) !== null) return item
    mistakes.note(
      path,
      'invalid_asset_id',
      'must be the id of an asset, such as eip155:1/slip44:60: see GET /v1/assets',
    )
    return undefined
  }
}

const SELECTOR = /^0x[0-9a-fA-F]{8}$/

function selector({ mistakes }: Reading): ReadItem {
  return (item, path) => {
    if (SELECTOR.test(item)) return item.toLowerCase()
    const source = `function ${item}`
    return mistakes.attempt(() => parseFragment('function', source, fieldPath(path)).hash.slice(0, 10))
  }
}

function readAmount(sent: SentMatch['amount'], reading: Reading, path: Path): Match['amount'] {
  if (sent === undefined) return undefined
  const { asset_id: id, ...bounds } = sent
  const asset = readAsset(id, reading, [...path, 'asset_id'])
  if (asset === null) return undefined
  const read = readBounds(bounds, asset.decimals, reading, path)
  return read === undefined ? undefined : { asset, ...read }
}

export function readAsset(id: string, { assetOf, mistakes }: Reading, path: Path): LimitedAsset | null {
  const asset = assetOf(id)
  if (asset !== null) return { assetId: asset.assetId, symbol: asset.symbol, decimals: asset.decimals }
  mistakes.note(path, 'unknown_asset', 'must be the id of an asset of the environment: see GET /v1/assets')
  return null
}

function readBounds(
  sent: SentBounds | undefined,
  decimals: number,
  { mistakes }: Reading,
  path: Path,
): Bounds | undefined {
  if (sent === undefined) return undefined
  const units = (name: 'gte' | 'lt') => {
    const text = sent[name]
    return text === undefined
      ? undefined
      : mistakes.attempt(() => parseAmount(text, decimals, fieldPath([...path, name])).toString())
  }
  const bounds = { ...named('gte', units('gte')), ...named('lt', units('lt')) }
  if (sent.gte === undefined && sent.lt === undefined) mistakes.note(path, 'required', 'must have gte or lt, or both')
  return bounds
}

const CLOCK = /^(?:([01]\d|2[0-3]):([0-5]\d)|24:00)$/
const HOUR = 60

function readTime(
  { zone, days, month_days: monthDays, from, to }: NonNullable<SentMatch['time']>,
  { mistakes }: Reading,
  path: Path,
): TimeWindow {
  if (!isTimeZone(zone))
    mistakes.note([...path, 'zone'], 'invalid_format', 'must be an IANA time zone, such as Europe/Zurich or UTC')
  const minutes = (name: 'from' | 'to', text: string | undefined) => {
    if (text === undefined) return undefined
    const [found, hour = '24', minute = '0'] = CLOCK.exec(text) ?? []
    if (found === undefined || (name === 'from' && found === '24:00'))
      mistakes.note([...path, name], 'invalid_time', 'must be a time of the day, such as 09:30')
    return Number(hour) * HOUR + Number(minute)
  }
  const [begin, end] = [minutes('from', from), minutes('to', to)]
  if (begin !== undefined && begin === end)
    mistakes.note([...path, 'to'], 'empty_range', 'must be another time than from: leave both out for the whole day')
  return {
    zone,
    ...named('days', days === undefined ? undefined : DAYS.filter((day) => days.includes(day))),
    ...named('monthDays', monthDays === undefined ? undefined : sortedOnce(monthDays, (a, b) => a - b)),
    ...named('from', begin),
    ...named('to', end),
  }
}
