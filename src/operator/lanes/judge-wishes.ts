/** Cancellations and speed-ups of a lane that are requested and not signed: why, and what to do. Pure. */
import { formatAmount } from '../../core/money.ts'
import { NATIVE_DECIMALS, NATIVE_SYMBOL } from '../../core/networks.ts'
import { type ReplacementLimit, replacementLimit } from '../../transactions/replacement-limit.ts'
import { type NextStep, step } from '../finding.ts'
import { count, duration, gwei, startProcess } from '../words.ts'
import type { LaneNow } from './lane-now.ts'
import { type Add, isOverCap, type LaneSituation, story } from './lane-situation.ts'

export function judgeWishes(lane: LaneNow, context: LaneSituation, add: Add): void {
  const { wish: id } = lane.ids
  // Fees above the cap are reported for the chain.
  if (id === null || isOverCap(context.chain)) return
  const since = lane.ages.wish
  const limit = limitOf(lane, context)
  // A limit does not go away by waiting.
  if (limit === null && (since === null || since <= context.limits.workMs)) return
  const { problem, next } = limit === null ? { problem: '', next: notLimited(context) } : tell(limit, lane, context)
  const age = since === null ? '' : ` for ${duration(since)}`
  const wishes = `${count(lane.counts.wishes, 'cancellation')} or speed-up requested but not signed, ${id}${age}.`
  add('wish_not_done', since, `${wishes}${problem}`, ...next, story(id))
}

function limitOf({ wish, spare, gas }: LaneNow, { chain }: LaneSituation): ReplacementLimit | null {
  if (wish === null || spare === null || chain === null) return null
  const { maxFeePerGasWei: capWei } = chain.settings
  return replacementLimit(wish.transaction, { capWei, spareWei: spare, emptyGas: gas.empty })
}

function tell(
  limit: ReplacementLimit,
  { wish }: LaneNow,
  { chain }: LaneSituation,
): { readonly problem: string; readonly next: readonly NextStep[] } {
  if (limit.kind === 'funds') {
    const network = wish?.transaction.intent.network ?? 'ethereum'
    const missing = `${formatAmount(limit.missingWei, NATIVE_DECIMALS)} ${NATIVE_SYMBOL[network]}`
    const to = wish?.transaction.intent.from
    return {
      problem: ` A replacement costs at least 12.5 % more, and the wallet lacks ${missing} for it.`,
      next: [step(`Send at least ${missing} to ${to}: it is then signed automatically.`)],
    }
  }
  const { neededWei, capWei } = limit
  const setting = chain?.capSetting
  return {
    problem: ` A replacement needs at least ${gwei(neededWei)} per gas, 12.5 % more than before, but the cap is ${gwei(capWei)}.`,
    next: [
      step(
        `Set ${setting} to at least ${neededWei} (wei) and restart the signers and the API: it is then signed automatically. Otherwise ` +
          'the transaction is mined as it is.',
        startProcess('signer api'),
      ),
    ],
  }
}

function notLimited({ chain, live }: LaneSituation): NextStep[] {
  if (live?.signer === 0) return [step('No signer is running: start one.', startProcess('signer'))]
  return [
    step(
      chain === null
        ? 'The chain is no longer configured: set its RPC URLs again.'
        : `A replacement costs at least 12.5 % more. If that is above the cap of ${gwei(chain.settings.maxFeePerGasWei)}, set ` +
            `${chain.capSetting} higher and restart the signers.`,
    ),
  ]
}
