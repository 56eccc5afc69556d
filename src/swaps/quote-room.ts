/** Refuses a quote that the limits of the API key would not let be swapped: with its approvals, at the middle fee. */

import { nativeAsset } from '../core/assets.ts'
import type { Owner } from '../core/tenants.ts'
import type { Requester } from '../transactions/prepare-transaction.ts'
import { completeIntent, findPayer, type PreparePorts } from '../transactions/prepare-transaction.ts'
import { type RoomPorts, requireRoom } from '../transactions/spends.ts'
import { gasReserve, type SwapQuote } from './quote.ts'
import { mostIn, targetOf } from './route.ts'

/** @throws KeyLimitReached; Unavailable `limit_time_unknown` */
export type RequireQuoteRoom = (quote: SwapQuote, requester: Owner & Requester) => Promise<void>

export function createRequireQuoteRoom(ports: PreparePorts & RoomPorts): RequireQuoteRoom {
  return async (quote, requester) => {
    if ((await ports.limitsOf(requester.actor)).length === 0) return
    const { approval, fromAsset, gas, route } = quote
    const sender = await findPayer(ports, requester, quote.walletId)
    const native = nativeAsset(sender.network, sender.chainId)
    const approvals = approval.needed ? (approval.resetFirst ? 2 : 1) : 0
    const now = ports.log.now()
    const calls = [
      ...Array.from({ length: approvals }, () => ({
        to: fromAsset.contract ?? '',
        asset: native,
        amount: 0n,
        gasLimit: gasReserve(BigInt(gas.approval) / BigInt(approvals)),
      })),
      { to: targetOf(route), asset: fromAsset, amount: mostIn(route), gasLimit: gasReserve(BigInt(gas.swap)) },
    ]
    const rest = { gasPriority: 'medium', dependsOn: null, subject: null, referenceId: null, memo: null } as const
    const intents = calls.map((call) =>
      completeIntent(ports, requester, sender, { ...call, ...rest, data: '0x', validUntil: null }, now),
    )
    await requireRoom(ports, await Promise.all(intents))
  }
}
