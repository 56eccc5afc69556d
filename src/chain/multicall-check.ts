/**
 * Whether the address of the settings is a Multicall3. A wrong one fails every read that is made through it: it is
 * reported, and reads that cannot be repeated alone go around it.
 */
import { encodeAggregate3 } from './aggregate3.ts'
import type { RpcReader } from './json-rpc.ts'
import { classifyCallFailure } from './rpc-errors.ts'

export type MulticallCheck = {
  /** The address, `null` without one or while it is no Multicall3. Unknown while no node answers: then the address. */
  readonly usable: () => Promise<string | null>
  /** What is wrong with it; `null` for nothing. Asks the node at most once a minute while it answers. */
  readonly problem: () => Promise<string | null>
}

/** No call returns no results: an array at the first word, of the length 0. */
const NO_RESULTS = `0x${'20'.padStart(64, '0')}${'0'.repeat(64)}`
const AGAIN_AFTER_MS = 60_000

/** @param now a clock, ms */
export function createMulticallCheck(client: RpcReader, address: string | null, now: () => number): MulticallCheck {
  let problem: string | null = null
  let isRight = false
  let askedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | null = null

  async function ask(): Promise<void> {
    const [result] = await client.batch([
      { method: 'eth_call', params: [{ to: address, data: encodeAggregate3([]) }, 'latest'] },
    ])
    // No answer says nothing: the next look asks again.
    if (result === undefined || (!result.ok && classifyCallFailure(result.error).type !== 'reverted')) return
    askedAt = now()
    isRight = result.ok && result.value === NO_RESULTS
    problem = isRight ? null : `${address} is no Multicall3 on this chain: reads are made one by one`
  }

  async function look(): Promise<string | null> {
    if (address === null || isRight || now() - askedAt < AGAIN_AFTER_MS) return problem
    asking ??= ask().finally(() => {
      asking = null
    })
    await asking
    return problem
  }

  return { problem: look, usable: async () => ((await look()) === null ? address : null) }
}
