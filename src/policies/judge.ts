/**
 * Judges a request before it is recorded: by what is in force for its owner now. What is recorded names the versions that judged it; the
 * append refuses it if others are in force by then, and it is judged again.
 */
import type { Metadata } from '../core/messages.ts'
import type { JudgedParts } from '../core/policy-limit.ts'
import type { Opening } from '../core/registry.ts'
import type { Owner } from '../core/tenants.ts'
import type { Intent } from '../transactions/intent.ts'
import { isUnjudged } from '../transactions/kinds.ts'
import type { CompiledPolicy } from './compile.ts'
import type { RuleReservation } from './count-limit.ts'
import { decide, type PolicyDecision } from './decide.ts'
import type { Facts } from './facts.ts'
import type { Judged } from './intent.ts'
import { type FactSources, judgedNow, type Place } from './judged-now.ts'
import type { InForce } from './policies-in-force.ts'
import { refusedByPolicy } from './refusal.ts'
import {
  judgedExport,
  judgedKeyChange,
  judgedSignature,
  judgedVoucher,
  type RequestFacts,
  type VoucherFacts,
  type WalletFacts,
} from './signature-intents.ts'
import { type JudgedKinds, judgedTransaction } from './transaction-intents.ts'

/** Who asks. `accepting`: the metadata of the request that is being accepted; missing for what is only previewed. */
export type Asking = Pick<Metadata, 'actor'> & { readonly accepting?: Metadata }

export type ShadowVerdict = {
  readonly request: Judged
  readonly decision: PolicyDecision
  readonly version: number
  /** Counters that the active version does not have. */
  readonly reservations: readonly RuleReservation[]
}

type JudgeAs<Request> = (request: Request, asking: Asking) => Promise<JudgedParts>

/** Each throws PolicyRefused for what the active version refuses. What no version judges records nothing. */
export type Judge = {
  readonly transaction: (opening: Opening, intent: Intent, asking: Asking) => Promise<JudgedParts>
  readonly signature: JudgeAs<Parameters<typeof judgedSignature>[0]>
  readonly export: JudgeAs<WalletFacts>
  readonly voucher: JudgeAs<VoucherFacts>
  readonly keyChange: JudgeAs<RequestFacts>
  /** Whether a version is in force that refuses. */
  readonly isActive: (owner: Owner) => Promise<boolean>
  /** Whether that version says which typed data that lets others spend is signed. */
  readonly rulesTypedData: (owner: Owner) => Promise<boolean>
  /** What the shadow says of a request since this was called last for it. */
  readonly shadowed: (accepting: Metadata) => readonly ShadowVerdict[]
}

export function createJudge({
  inForce,
  kinds,
  ...sources
}: FactSources & { readonly kinds: JudgedKinds; readonly inForce: (owner: Owner) => Promise<InForce> }): Judge {
  const shadowed = new WeakMap<Metadata, ShadowVerdict[]>()

  async function judge(place: Place, asking: Asking, read: (facts: Facts) => Judged): Promise<JudgedParts> {
    const { active, shadow } = await inForce(place)
    if (active === null && shadow === null) return {}
    const { actor, accepting } = asking
    const asked = {
      own: active?.namesOwnWallets === true || shadow?.namesOwnWallets === true,
      prices: active?.needsPrices === true || shadow?.needsPrices === true,
    }
    const { request, ...known } = await judgedNow(sources, place, { actor, asked }, read)
    const reservations = active === null ? [] : reservationsOf(active, request)
    const verdict = shadow === null ? null : shadowVerdict(shadow, request, reservations)
    if (verdict !== null && accepting !== undefined)
      shadowed.set(accepting, [...(shadowed.get(accepting) ?? []), verdict])
    const version = active?.version ?? 0
    const policy = shadow === null ? { version, ...known } : { version, shadow: shadow.version, ...known }
    const ofShadow = verdict?.reservations.map((one) => ({ ...one, mustFit: false as const })) ?? []
    return reservations.length + ofShadow.length === 0
      ? { policy }
      : { policy, reservations: [...reservations, ...ofShadow] }
  }

  const nowhere = { walletId: null, chainId: null }
  return {
    transaction: (type, data, asking) =>
      isUnjudged(type)
        ? Promise.resolve({})
        : judge(data, asking, (facts) => judgedTransaction(kinds, { type, data }, facts)),
    signature: (requested, asking) => judge(requested, asking, (facts) => judgedSignature(requested, facts)),
    export: (requested, asking) => judge(requested, asking, (facts) => judgedExport(requested, facts)),
    voucher: (requested, asking) => judge(requested, asking, (facts) => judgedVoucher(requested, facts)),
    keyChange: (requested, asking) =>
      judge({ ...requested, ...nowhere }, asking, (facts) => judgedKeyChange(requested, facts)),
    isActive: async (owner) => (await inForce(owner)).active !== null,
    rulesTypedData: async (owner) => (await inForce(owner)).active?.rulesTypedData === true,
    shadowed(accepting) {
      const verdicts = shadowed.get(accepting) ?? []
      shadowed.delete(accepting)
      return verdicts
    },
  }
}

/** @throws PolicyRefused */
function reservationsOf(active: CompiledPolicy, request: Judged): readonly RuleReservation[] {
  const { outcome, refusal, reservations } = decide(active, request)
  if (refusal !== null) throw refusedByPolicy(refusal, request)
  if (outcome !== 'allowed') throw new Error(`version ${active.version} of a policy is active and asks for approvals`)
  return reservations
}

function shadowVerdict(shadow: CompiledPolicy, request: Judged, active: readonly RuleReservation[]): ShadowVerdict {
  const decision = decide(shadow, request)
  const counted = new Set(active.map(({ counter }) => counter))
  const reservations = decision.reservations.filter(({ counter }) => !counted.has(counter))
  return { request, decision, version: shadow.version, reservations }
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly judge: {
      /** What the policy of a tenant says about requests that are no transactions; `prepareCall` asks for those. */
      readonly judge: Judge
    }
  }
}
