/** The transaction with the lowest nonce of a lane: why it is not mined. Pure. */
import { formatAmount } from '../../core/money.ts'
import { NATIVE_DECIMALS, NATIVE_SYMBOL } from '../../core/networks.ts'
import { holdsOf } from '../../transactions/aggregate.ts'
import { newestAttempt } from '../../transactions/state.ts'
import type { ChainNow } from '../chain-now.ts'
import { type NextStep, step } from '../finding.ts'
import type { Limits } from '../limits.ts'
import { apiRequest, bursar, duration, gwei, startProcess } from '../words.ts'
import type { Head, LaneNow } from './lane-now.ts'
import { type Add, type LaneSituation, story } from './lane-situation.ts'

export function judgeHead(lane: LaneNow, context: LaneSituation, add: Add): void {
  const { head, ages } = lane
  const { chain, limits } = context
  const newest = head === null ? null : newestAttempt(head.transaction)
  if (head === null || newest === null) return
  judgeGas(lane, { id: head.id, has: newest.fees.gasLimit, cancel: pathOf(head, 'cancel') }, context, add)
  if (head.transaction.state === 'awaiting_funds') {
    judgeFunds(lane, head, context, add)
    return
  }
  const maxFee = newest.fees.maxFeePerGas
  if (chain?.node.up && maxFee < chain.node.baseFeePerGas) {
    add(
      'fee_under_base',
      ages.head,
      `${head.id} (nonce ${newest.nonce}) offers at most ${gwei(maxFee)}, but the base fee is ${gwei(chain.node.baseFeePerGas)}: ` +
        'neither it nor later transactions of the lane can be mined.',
      ...dearer(head, chain, limits),
    )
    return
  }
  if (!context.followed || head.transaction.state !== 'submitted' || (ages.head ?? 0) <= limits.blockMs) return
  add(
    'not_mined',
    ages.head,
    `${head.id} (nonce ${newest.nonce}) was sent to a node ${duration(ages.head ?? 0)} ago and its fee is high enough, but it is not mined.`,
    step('Check that the chain produces blocks: its node or the provider may have stopped.', bursar('stuck')),
    story(head.id),
    step('Speed it up.', apiRequest(pathOf(head, 'speed-up'), { gas_priority: 'high' })),
    step('Or cancel it.', apiRequest(pathOf(head, 'cancel'))),
  )
}

/** A fork has made its call dearer since it was signed. */
function judgeGas(
  { gas: { head: needed }, ages }: LaneNow,
  { id, has, cancel }: { readonly id: string; readonly has: bigint; readonly cancel: string },
  { limits }: LaneSituation,
  add: Add,
): void {
  if (needed === null) return
  add(
    'gas_too_low',
    ages.head,
    `${id} was signed with ${has} gas, and needs ${needed} by the rules that its chain has now, or will have in a moment: mined as ` +
      'it is, it would fail and its fee would be paid.',
    step(
      `Wait: it is replaced by a version with enough gas ${duration(limits.replaceAfterMs)} after it was sent, if the wallet can pay for it.`,
    ),
    step('Or cancel it, and send it again.', apiRequest(cancel)),
  )
}

function dearer(head: Head, chain: ChainNow, { replaceAfterMs }: Limits): NextStep[] {
  const { maxFeePerGasWei: cap, minTipWei } = chain.settings
  const needed = chain.node.up ? chain.node.baseFeePerGas + minTipWei : 0n
  if (needed > cap) {
    return [
      step(
        `The network requires more than the cap of ${gwei(cap)}: wait for fees to fall, or set ${chain.capSetting} to more than ` +
          `${needed} (wei) and restart the signers.`,
        startProcess('signer'),
      ),
    ]
  }
  return [
    step(`Wait: its fee is bumped automatically ${duration(replaceAfterMs)} after it was sent, up to ${gwei(cap)}.`),
    step('Or speed it up now.', apiRequest(pathOf(head, 'speed-up'), { gas_priority: 'high' })),
    step('Or cancel it.', apiRequest(pathOf(head, 'cancel'))),
  ]
}

function judgeFunds(lane: LaneNow, head: Head, context: LaneSituation, add: Add): void {
  const { intent } = head.transaction
  const symbol = NATIVE_SYMBOL[intent.network]
  const needed = [...holdsOf(head.transaction)].find(([assetId]) => assetId.includes('/slip44:'))?.[1] ?? 0n
  const held = lane.nativeBalance
  const missing = held === null ? null : needed - held
  const has = held === null ? '' : `, but the wallet has ${formatAmount(held, NATIVE_DECIMALS)}`
  add(
    'awaiting_funds',
    lane.ages.head,
    `${head.id} needs ${formatAmount(needed, NATIVE_DECIMALS)} ${symbol} including gas${has}: the node refuses it, and later ` +
      'transactions of the lane wait.',
    step(
      missing !== null && missing > 0n
        ? `Send at least ${formatAmount(missing, NATIVE_DECIMALS)} ${symbol} to ${intent.from}: the transaction is then sent again automatically.`
        : `Send ${symbol} to ${intent.from}: the transaction is then sent again automatically within ${duration(context.limits.rebroadcastAfterMs)}.`,
    ),
    step('Or cancel it.', apiRequest(pathOf(head, 'cancel'))),
  )
}

function pathOf({ id, transaction }: Head, action: 'cancel' | 'speed-up'): string {
  return `/v1/wallets/${transaction.intent.walletId}/transactions/${id}/${action}`
}
