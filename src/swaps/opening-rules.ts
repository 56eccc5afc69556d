/** What the transactions of swaps may be: approvals of an exact amount, the swap itself, and the deployment of its guard. Pure. */
import { approvedSpender } from '../chain/erc20.ts'
import { sameHex } from '../keys/coverage.ts'
import type { Intent } from '../transactions/intent.ts'
import type { KindsOf } from '../transactions/kind-rules.ts'
import { callWithoutValue, foreignParts, foreignSubject } from '../transactions/opening-rules.ts'
import { deployGuard } from './contracts/guard.ts'
import { encodeUnwrap, encodeWrap } from './contracts/router.ts'
import type { swaps } from './declaration.ts'
import { promiseOfSwap } from './keep-promise.ts'
import type { SwapIntent } from './part.ts'
import { approvalTargetProblem, swapTargetProblem } from './swap-target.ts'

export const swapKinds: KindsOf<typeof swaps> = {
  SwapRequested: {
    rule(intent) {
      const { data, swap, amount, to, from } = intent
      if (data === null || swap === undefined) return 'a swap must record its call data and what it exchanges'
      if (amount <= 0n || amount !== soldBy(swap)) return 'the amount of a swap must be the most that it sells'
      if (sameHex(to, from)) return 'a swap must call a contract, not the wallet'
      return foreignParts(intent, ['swap']) ?? foreignSubject(intent, 'swap') ?? calledToken(intent, swap)
    },
    destination: swapTargetProblem,
    promise: promiseOfSwap,
    relays: { of: ({ swap }) => swap?.relays, noun: 'swap', setting: 'SWAP_RPC_URLS' },
    asksReverter: true,
  },
  TokenApprovalRequested: {
    rule(intent) {
      const bare = callWithoutValue(intent, 'swap')
      if (bare !== null) return bare
      return approvedSpender(intent.data ?? '') === null
        ? 'an approval must call approve(address,uint256), and nothing else'
        : null
    },
    destination: approvalTargetProblem,
  },
  SwapGuardDeployRequested: {
    rule(intent) {
      const { to, data, asset, amount, subject, dependsOn } = intent
      const guard = deployGuard()
      if (!sameHex(to, guard.to) || !sameHex(data, guard.data))
        return 'it must deploy the guard of swaps, and nothing else'
      if (asset.contract !== null || amount !== 0n) return 'it must not send an amount'
      if (subject !== null || dependsOn !== null) return 'the deployment of the guard must stand alone'
      return foreignParts(intent, [])
    },
  },
}

/** The most that the wallet pays. */
function soldBy({ amountType, fromAmount, limit, hosted }: SwapIntent): bigint {
  return BigInt(amountType === 'exact_output' && hosted !== true ? limit : fromAmount)
}

/** A token that it exchanges may be called only to wrap or unwrap: any other function could move the wallet's tokens. */
function calledToken({ to, data, asset, amount }: Intent, { toAsset }: SwapIntent): string | null {
  const call =
    asset.contract !== null && sameHex(to, asset.contract)
      ? encodeUnwrap(to, amount)
      : toAsset.contract !== null && sameHex(to, toAsset.contract)
        ? encodeWrap(to, amount)
        : null
  return call === null || sameHex(data, call.data) ? null : 'a swap must not call a token, except to wrap or unwrap'
}
