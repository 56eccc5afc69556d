/**
 * Executes a quoted swap with its approvals in a simulation, as the wallet and at the block of the quote: whether it
 * succeeds, its gas, and what the wallet really receives.
 */
import { encodeApprove } from '../chain/erc20.ts'
import { DATA_BYTE_GAS, INTRINSIC_GAS } from '../chain/forks.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import { type RehearsedChanges, rehearseChanges } from '../chain/rehearsal.ts'
import type { RehearsalStep } from '../chain/rehearsed.ts'
import { decodeRevert } from '../chain/revert-reason.ts'
import type { Asset } from '../core/assets.ts'
import { BursarError } from '../core/errors.ts'
import type { ContractCallData } from './contracts/router.ts'

export type SwapToRehearse = {
  readonly wallet: string
  readonly from: Asset
  readonly to: Asset
  readonly call: ContractCallData
  /** The approval before the swap; `null` when none is needed. */
  readonly approval: { readonly token: string; readonly spender: string; readonly amount: bigint } | null
  /** Whether the allowance is not 0: some tokens refuse to change it before it is. */
  readonly hasAllowance: boolean
  readonly blockHash: string
  /**
   * Other tokens of the wallet, at most 30, that the swap must not move, nor the native currency beside what it
   * exchanges. Missing for call data of our own, which moves nothing else.
   */
  readonly others?: readonly string[]
}

export type RehearsalOutcome =
  | {
      readonly type: 'swapped'
      /** Base units that the wallet paid and received, without gas. */
      readonly paid: bigint
      readonly received: bigint
      readonly resetFirst: boolean
      /** No node simulated it as a transaction: a contract that looks at the code of its caller may do something else. */
      readonly hasCode: boolean
      /** Of the transactions: all approvals together, and the swap. */
      readonly gas: { readonly approval: bigint; readonly swap: bigint }
    }
  | { readonly type: 'reverted'; readonly reason: string }
  | { readonly type: 'unknown'; readonly reason: string }

type Attempt = { readonly resetFirst: boolean; readonly steps: readonly RehearsalStep[] }

/** Never throws for what the node or a contract answers: the outcome is then `unknown`. */
export async function rehearseSwap(client: RpcReader, swap: SwapToRehearse): Promise<RehearsalOutcome> {
  const outcomes = await Promise.all(
    attemptsOf(swap).map(async (attempt) => {
      try {
        return outcomeOf(attempt, await rehearseAttempt(client, swap, attempt))
      } catch (error) {
        if (!(error instanceof BursarError)) throw error
        return { type: 'unknown', reason: error.message } as const
      }
    }),
  )
  const [first] = outcomes
  return (
    outcomes.find(({ type }) => type === 'swapped') ?? first ?? { type: 'unknown', reason: 'nothing was rehearsed' }
  )
}

/** With the approval as it is, and, where the allowance is not 0, also with a reset before it. */
function attemptsOf({ call, approval, hasAllowance }: SwapToRehearse): readonly Attempt[] {
  if (approval === null) return [{ resetFirst: false, steps: [call] }]
  const approve = (amount: bigint): RehearsalStep => ({
    to: approval.token,
    value: 0n,
    data: encodeApprove(approval.spender, amount),
  })
  const steps = [approve(approval.amount), call]
  return [{ resetFirst: false, steps }, ...(hasAllowance ? [{ resetFirst: true, steps: [approve(0n), ...steps] }] : [])]
}

function rehearseAttempt(client: RpcReader, swap: SwapToRehearse, { steps }: Attempt): Promise<RehearsedChanges> {
  const { wallet, from, to, others, blockHash } = swap
  const exchanged = [from.contract, to.contract]
  const unmoved = others === undefined ? [] : [null, ...others].filter((asset) => !exchanged.includes(asset))
  return rehearseChanges(client, wallet, { steps, assets: [...exchanged, ...unmoved] }, { blockHash })
}

function outcomeOf({ resetFirst, steps }: Attempt, rehearsed: RehearsedChanges): RehearsalOutcome {
  const failed = rehearsed.steps.find(({ success }) => !success)
  if (failed !== undefined || rehearsed.steps.length < steps.length) {
    const reason = decodeRevert(failed?.data ?? '0x')?.text
    return { type: 'reverted', reason: reason ?? 'The call reverts without a reason.' }
  }
  const [paid, received, ...others] = rehearsed.changes
  if (paid == null || received == null) return { type: 'unknown', reason: 'A token did not return its balance.' }
  if (others.some((change) => change !== 0n))
    return { type: 'reverted', reason: 'The call would move another asset of the wallet.' }
  const gas = rehearsed.steps.map((step, i) => step.gas + INTRINSIC_GAS + dataGas(steps[i]?.data ?? '0x'))
  const total = gas.reduce((sum, one) => sum + one, 0n)
  const swap = gas.at(-1) ?? 0n
  const { hasCode } = rehearsed
  return { type: 'swapped', paid: -paid, received, resetFirst, hasCode, gas: { approval: total - swap, swap } }
}

function dataGas(data: string): bigint {
  return BigInt(data.length / 2 - 1) * DATA_BYTE_GAS
}
