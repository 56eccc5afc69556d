/**
 * What the log knew when a request was recorded, for whoever judges it again. Facts change with events: those with a lower position than
 * the request count. The API may have read a fact shortly before, so it can be asked for without the newest changes.
 */
import type { Owner } from '../core/tenants.ts'
import type { Checked } from '../event-log/load-checked.ts'
import type { AssetRef } from '../transactions/intent.ts'
import type { Facts } from './facts.ts'

/** The values of a fact, each from an event on, in the order of the log. */
export type Changes<Value> = readonly { readonly position: bigint; readonly at: string; readonly value: Value }[]

export type LogFacts = {
  readonly tagsOf: (walletId: string) => Promise<Changes<readonly string[]>>
  /** @param contract in lower case, as all addresses here */
  readonly tokenOf: (tenantId: string, chainId: number, contract: string) => Promise<Changes<AssetRef | null>>
  /** Whether the tenant has a wallet with this address, whose key this installation holds. */
  readonly isOwn: (owner: Owner, address: string) => Promise<Changes<boolean>>
  readonly isCollection: (tenantId: string, chainId: number, contract: string) => Promise<Changes<boolean>>
  /** By the settings of this process. */
  readonly isOwnSpender: Facts['isOwnSpender']
}

/** A fact that is there from the first event of a stream on; not if the stream is broken. */
export function trueFromOpening(streams: readonly Pick<Checked<unknown>, 'broken' | 'opened'>[]): Changes<boolean> {
  return streams.flatMap(({ broken, opened }) =>
    broken !== null || opened === null ? [] : [{ position: opened.position, at: opened.recordedAt, value: true }],
  )
}

/** The place of a request; without changes since `before` (ISO 8601), if that is there. */
export type AsOf = { readonly position: bigint; readonly before?: string }

/** The value of a fact; `undefined` if the log had none. */
export function valueAsOf<Value>(changes: Changes<Value>, { position, before }: AsOf): Value | undefined {
  return changes.findLast((one) => one.position < position && (before === undefined || one.at < before))?.value
}
