/**
 * Whether recorded requests are as the policy that was in force says: for signers and parties, before they sign, and for whoever
 * looks for the reason why nothing is signed. From the log come the policy, its place, and all facts but the prices of assets and the time of the
 * request, which only the request itself has.
 */
import type { Clock } from '../core/ids.ts'
import type { PolicyPart } from '../core/policy-part.ts'
import type { Reservation } from '../core/spend-limits.ts'
import { BrokenChain } from '../event-log/broken-chain.ts'
import type { AssetRef } from '../transactions/intent.ts'
import type { CompiledPolicy } from './compile.ts'
import type { Facts } from './facts.ts'
import type { Judged } from './intent.ts'
import type { LogClock } from './log-clock.ts'
import { type AsOf, type Changes, type LogFacts, valueAsOf } from './log-facts.ts'
import { decisionProblem, namedProblem } from './recompute.ts'
import type { InForceAt, PlacedRequest, RecordedPolicies } from './recorded-policies.ts'

/** A request as the log has it. */
export type RecordedRequest = PlacedRequest & {
  /** By which its problem is found. */
  readonly id: string
  readonly actor: string
  readonly walletId: string
  readonly requestedAt: string
  readonly policy?: PolicyPart | undefined
  readonly reservations: readonly Reservation[] | undefined
  readonly judge: (facts: Facts) => Judged
}

/** What is wrong, by the id of the request; those that are as the policy says are missing. @throws Unavailable */
export type CheckRequests = (requests: readonly RecordedRequest[]) => Promise<ReadonlyMap<string, string>>

/** How long a change may be unknown to whoever accepts requests, ms. */
const UNKNOWN_FOR_MS = 60_000

type Rules = { readonly active: CompiledPolicy | null; readonly shadow: CompiledPolicy | null }

/** What the append has counted. */
export type CountedSpends = {
  /** In buckets, in order. @throws Unavailable */
  readonly spentIn: (buckets: readonly Pick<Reservation, 'counter' | 'bucket'>[]) => Promise<readonly bigint[]>
  readonly clock: Clock
}

type CheckContext = {
  readonly policies: RecordedPolicies
  readonly facts: LogFacts
  /** `null` for a process that may not read it. */
  readonly counted: CountedSpends | null
  /** `null` for a process that does not run long enough to know. */
  readonly times: Pick<LogClock, 'problemOf'> | null
}

/** `CheckRequests` with its parts. */
export async function checkRequests(
  ctx: CheckContext,
  requests: readonly RecordedRequest[],
): Promise<ReadonlyMap<string, string>> {
  const inForce = await ctx.policies.inForceAt(requests)
  const problems = await Promise.all(
    requests.map((request, index) => problemOf(ctx, request, inForce[index] as InForceAt | string)),
  )
  return new Map(
    requests.flatMap(({ id }, index) => {
      const problem = problems[index] ?? null
      return problem === null ? [] : [[id, problem] as const]
    }),
  )
}

async function problemOf(
  { policies, facts, counted, times }: CheckContext,
  request: RecordedRequest,
  inForce: InForceAt | string,
): Promise<string | null> {
  if (typeof inForce === 'string') return inForce
  const { active, shadow } = inForce
  const versions = { active: active?.version ?? 0, shadow: shadow?.version ?? 0 }
  const wrong = namedProblem(request.policy, versions)
  if (wrong !== null) return request.policy === undefined && movesNothing(request) ? null : wrong
  if (active === null && shadow === null) return null
  const untimely = active === null ? null : (times?.problemOf(request) ?? null)
  if (untimely !== null) return untimely
  const rules = await rulesOf(policies, request, inForce).catch(unlessBroken)
  if (typeof rules === 'string') return rules
  return (await judgedProblem(request, rules, facts)) ?? (counted && (await countedProblem(request, counted)))
}

async function rulesOf(
  policies: RecordedPolicies,
  request: RecordedRequest,
  { active, shadow }: InForceAt,
): Promise<Rules> {
  return {
    active: active && (await policies.rulesOf(request, active)),
    shadow: shadow && (await policies.rulesOf(request, shadow)),
  }
}

function unlessBroken(error: unknown): string {
  if (error instanceof BrokenChain) return error.message
  throw error
}

/** Buckets that are older may be deleted. */
const COUNTED_MS = 30 * 24 * 3_600_000

/** A counter has what the request reserves as long as it waits. */
async function countedProblem(
  { reservations = [] }: RecordedRequest,
  { spentIn, clock }: CountedSpends,
): Promise<string | null> {
  const kept = clock() - COUNTED_MS
  const ofRules = reservations.filter(({ rule, bucket }) => rule !== undefined && Date.parse(bucket) > kept)
  if (ofRules.length === 0) return null
  const spent = await spentIn(ofRules)
  const missing = ofRules.find(({ amount }, index) => (spent[index] ?? 0n) < amount)
  return missing === undefined ? null : `the counter of the rule ${missing.rule} has less than it reserves`
}

/** What no policy is about: the rules of its kind say so. */
function movesNothing({ judge }: RecordedRequest): boolean {
  const nothing = { tags: [], priceOf: () => null, tokenOf: () => null, isOwn: () => false, isCollection: () => false }
  try {
    return judge({ ...nothing, isOwnSpender: () => false, actor: '' }).intents.length === 0
  } catch {
    return false
  }
}

/** With all that the log had, and else without what whoever accepted it may not have seen yet. */
async function judgedProblem(request: RecordedRequest, rules: Rules, sources: LogFacts): Promise<string | null> {
  const known = await gatherFacts(request, rules, sources)
  const { position, requestedAt } = request
  const problem = problemAsOf(request, rules, known({ position }))
  if (problem === null) return null
  const before = new Date(Date.parse(requestedAt) - UNKNOWN_FOR_MS).toISOString()
  return problemAsOf(request, rules, known({ position, before })) === null ? null : problem
}

function problemAsOf(request: RecordedRequest, { active, shadow }: Rules, facts: Facts): string | null {
  const { policy, reservations = [], judge } = request
  try {
    if (usesTags({ active, shadow }) && `${policy?.tags.toSorted()}` !== `${facts.tags.toSorted()}`)
      return `its tags (${policy?.tags.join(', ')}) are not those of its wallet (${facts.tags.join(', ')})`
    const judged = judge(facts)
    return (
      (active && decisionProblem(active, judged, reservations, { isShadow: false })) ??
      (shadow && decisionProblem(shadow, judged, reservations, { isShadow: true }))
    )
  } catch (error) {
    // Rules or a request that no version of Bursar writes: the database takes any content from whoever may append.
    return `it cannot be judged: ${error instanceof Error ? error.message : String(error)}`
  }
}

function usesTags(rules: Rules): boolean {
  return rulesIn(rules).some(({ rule }) => rule.match.walletTags !== undefined)
}

function rulesIn({ active, shadow }: Rules): CompiledPolicy['rules'] {
  return [...(active?.rules ?? []), ...(shadow?.rules ?? [])]
}

/** What judging asked for, with the answers. */
type Asked<Value> = Map<string, Promise<Changes<Value>>>

/**
 * Reads the facts that the rules and the request are about. Judging is pure and says what it needs by asking: it is done once with no
 * answers.
 */
async function gatherFacts(
  { tenantId, environment, walletId, actor, policy, judge }: RecordedRequest,
  rules: Rules,
  sources: LogFacts,
): Promise<(asOf: AsOf) => Facts> {
  const tokens: Asked<AssetRef | null> = new Map()
  const owned: Asked<boolean> = new Map()
  const collections: Asked<boolean> = new Map()
  const isOwnAsked = [rules.active, rules.shadow].some((policy) => policy?.namesOwnWallets === true)
  const ask = <Value>(asked: Asked<Value>, key: string, read: () => Promise<Changes<Value>>) => {
    if (!asked.has(key)) asked.set(key, read())
  }
  const common = {
    actor,
    priceOf: (assetId: string) => policy?.prices?.find((price) => price.assetId === assetId) ?? null,
    isOwnSpender: sources.isOwnSpender,
  }
  try {
    judge({
      ...common,
      tags: [],
      tokenOf(chainId, contract) {
        ask(tokens, `${chainId} ${contract}`, () => sources.tokenOf(tenantId, chainId, contract))
        return null
      },
      isOwn(address) {
        if (isOwnAsked) ask(owned, address, () => sources.isOwn({ tenantId, environment }, address))
        return false
      },
      isCollection(chainId, contract) {
        ask(collections, `${chainId} ${contract}`, () => sources.isCollection(tenantId, chainId, contract))
        return false
      },
    })
  } catch {
    // It is judged again, and the reason reported.
  }
  const [tags, ...known] = await Promise.all([
    usesTags(rules) ? sources.tagsOf(walletId) : [],
    answered(tokens),
    answered(owned),
    answered(collections),
  ])
  return (asOf) => ({
    ...common,
    // The append compares them with those of the wallet, so nobody sees older ones.
    tags: valueAsOf(tags, { position: asOf.position }) ?? [],
    tokenOf: (chainId, contract) => valueAsOf(known[0].get(`${chainId} ${contract}`) ?? [], asOf) ?? null,
    isOwn: (address) => valueAsOf(known[1].get(address) ?? [], asOf) ?? false,
    isCollection: (chainId, contract) => valueAsOf(known[2].get(`${chainId} ${contract}`) ?? [], asOf) ?? false,
  })
}

async function answered<Value>(asked: Asked<Value>): Promise<ReadonlyMap<string, Changes<Value>>> {
  return new Map(await Promise.all([...asked].map(async ([key, answer]) => [key, await answer] as const)))
}

declare module '../capability.ts' {
  interface SigningNeeds {
    /**
     * Why the policy of the log forbids a recorded request; what it forbids is reported under the name of its id.
     * @param problem of this kind of request
     */
    readonly problemOf: <Recorded extends { readonly id: string }, Rest extends readonly unknown[]>(
      name: string,
      problem: (check: CheckRequests) => (recorded: Recorded, ...rest: Rest) => Promise<string | null>,
    ) => (recorded: Recorded, ...rest: Rest) => Promise<string | null>
  }
  interface CoverNeeds {
    readonly check: CheckRequests
  }
}
