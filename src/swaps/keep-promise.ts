/**
 * Whether a call whose data is not ours would keep what was promised for it: executed in a simulation at the newest
 * block, in which the wallet already has the allowance.
 */
import { readHead } from '../chain/blocks.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import { rehearseChanges } from '../chain/rehearsal.ts'
import { decodeRevert } from '../chain/revert-reason.ts'
import { BursarError } from '../core/errors.ts'
import { sameHex } from '../keys/coverage.ts'
import type { Call } from '../transactions/build-call.ts'
import type { Intent } from '../transactions/intent.ts'
import type { BrokenPromise, PromiseCheck } from '../transactions/kind-rules.ts'
import { GUARD_ADDRESS, readGuardProblem } from './contracts/guard.ts'

/** Base units; contracts, `null` for the native currency. */
type Promised = {
  readonly sold: string | null
  readonly bought: string | null
  readonly most: bigint
  readonly least: bigint
}

type CallToRehearse = {
  readonly from: string
  readonly call: Call
  readonly promised: Promised
  /** A block that the node must have seen. */
  readonly sinceBlock: number
}

/** The check of a swap by call data of others, or through the guard; `null` for any other swap. */
export function promiseOfSwap({ from, swap, asset, amount }: Intent, call: Call): PromiseCheck | null {
  if (swap === undefined || (swap.hosted !== true && !sameHex(call.to, GUARD_ADDRESS))) return null
  const promised = { sold: asset.contract, bought: swap.toAsset.contract, most: amount, least: BigInt(swap.limit) }
  return async (client, sinceBlock) => {
    try {
      return await rehearsed(client, { from, call, promised, sinceBlock })
    } catch (error) {
      if (!(error instanceof BursarError)) throw error
      return broken('could_not_simulate', error.message)
    }
  }
}

async function rehearsed(
  client: RpcReader,
  { from, call, promised, sinceBlock }: CallToRehearse,
): Promise<BrokenPromise | null> {
  const { sold, bought, most, least } = promised
  const head = await readHead(client)
  if (head.number < sinceBlock) return broken('could_not_simulate', `the node has not seen block ${sinceBlock} yet`)
  const unguarded = sameHex(call.to, GUARD_ADDRESS) ? await readGuardProblem(client) : null
  if (unguarded !== null) return broken('could_not_simulate', unguarded)
  const { steps, changes } = await rehearseChanges(
    client,
    from,
    { steps: [call], assets: [sold, bought] },
    { blockHash: head.hash },
  )
  const [step] = steps
  const refuse = (reason: string) => broken('execution_reverted', reason)
  if (step?.success !== true) return refuse(decodeRevert(step?.data ?? '0x')?.text ?? 'The call would revert.')
  const [lost, gained] = changes
  if (lost == null || gained == null) return broken('could_not_simulate', 'a token did not return its balance')
  if (gained < least) return refuse(`Too little received: ${gained} base units, below the minimum of ${least}.`)
  return -lost <= most ? null : refuse(`Too much requested: ${-lost} base units, above the maximum of ${most}.`)
}

function broken(code: BrokenPromise['code'], reason: string): BrokenPromise {
  return { ok: false, code, reason }
}
