/** Makes a limit of a policy ready to be counted, on a counter that is named by what it counts. Pure. */
import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import type { Among, Match, Per, Rule, RuleLimit } from '../core/policy.ts'
import { USD_DECIMALS } from '../core/spend-limits.ts'
import { assetKey } from './intent.ts'

export type CompiledLimit = {
  readonly rule: string
  readonly of: RuleLimit['of']
  /** Of the asset that it limits. */
  readonly assetKey: string | null
  readonly per: Per
  readonly windowSeconds: number
  readonly most: bigint
  /** The counter, without whose it is: a digest of what it counts. The same in another version, or in another rule, counts on. */
  readonly name: string
  readonly unit: string
  readonly decimals: number
}

/** Addresses in lower case, by the name of their list. */
export type Lists = ReadonlyMap<string, readonly string[]>

export function compileLimit({ id: rule, match }: Rule, limit: RuleLimit, lists: Lists): CompiledLimit {
  const { of, per, windowSeconds } = limit
  const key = of === 'asset' ? assetKey(limit.assetId) : null
  return {
    ...{ rule, of, per, windowSeconds, assetKey: key, most: BigInt(limit.amount) },
    name: digestOf({ match: resolved(match, lists), unit: key ?? of, windowSeconds, per }),
    unit: of === 'asset' ? limit.symbol : of === 'usd' ? 'USD' : 'transactions',
    decimals: of === 'asset' ? limit.decimals : of === 'usd' ? USD_DECIMALS : 0,
  }
}

/** 128 bits: nobody finds two that differ with the same name. */
const NAME_DIGITS = 32

function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, NAME_DIGITS)
}

/** With the addresses of lists instead of their names: what a list is called says nothing about what is counted. */
function resolved({ recipients, contracts, spenders, typedData, ...match }: Match, lists: Lists): unknown {
  const among = (part: Among | undefined) => {
    if (part === undefined) return undefined
    const { in: wanted, notIn } = withAddresses(part, lists) as { readonly in?: string[]; readonly notIn?: string[] }
    const items = [...new Set(wanted ?? notIn)].sort().join(' ')
    return wanted === undefined ? { notIn: items } : { in: items }
  }
  return {
    ...match,
    ...{ recipients: among(recipients), contracts: among(contracts), spenders: among(spenders) },
    typedData: typedData && { ...typedData, verifyingContracts: among(typedData.verifyingContracts) },
  }
}

/** The addresses of lists instead of their names; in lower case. */
export function withAddresses(among: Among, lists: Lists): Among {
  const items = 'in' in among ? among.in : among.notIn
  const all = items.flatMap((item) => lists.get(item) ?? [item.toLowerCase()])
  return 'in' in among ? { in: all } : { notIn: all }
}
