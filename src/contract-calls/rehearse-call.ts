/** What a call takes from a wallet and brings to it, by a rehearsal on the newest state. */
import type { RpcReader } from '../chain/json-rpc.ts'
import type { ContractCall } from '../chain/multicall.ts'
import { balanceRead, rehearse } from '../chain/rehearsal.ts'
import type { Rehearsed, RehearsedChange } from '../chain/rehearsed.ts'
import type { Asset } from '../core/assets.ts'
import { BursarError } from '../core/errors.ts'
import { largest } from '../core/money.ts'
import type { Outflow } from '../transactions/intent.ts'
import type { DescribedCall } from './read-call.ts'

/** Reads of one rehearsal. */
const READS_TOGETHER = 32

/** Base units; negative for what the wallet gives. */
export type BalanceChange = { readonly asset: Asset; readonly change: bigint }

export type RehearsedCall = {
  /** Only assets that change, the native currency first, without gas. */
  readonly changes: readonly BalanceChange[]
  /** For each further read. */
  readonly watched: readonly (RehearsedChange | null)[]
}

/**
 * @param assets the tokens whose balances are watched
 * @param watched further view functions that return one word
 * @returns `null` if no node rehearses calls, or the call fails in the rehearsal
 */
export async function rehearseCall(
  client: RpcReader,
  wallet: string,
  call: Pick<DescribedCall, 'to' | 'data' | 'value'>,
  { native, tokens, watched = [] }: { native: Asset; tokens: readonly Asset[]; watched?: readonly ContractCall[] },
): Promise<RehearsedCall | null> {
  const reads = [...tokens.map(({ contract }) => balanceRead(contract ?? '', wallet)), ...watched]
  const groups = Array.from({ length: Math.max(1, Math.ceil(reads.length / READS_TOGETHER)) }, (_, i) =>
    reads.slice(i * READS_TOGETHER, (i + 1) * READS_TOGETHER),
  )
  const rehearsals = await Promise.all(groups.map((group) => tryRehearse(client, wallet, call, group)))
  const [first] = rehearsals
  if (first == null || rehearsals.some((each) => each?.steps.at(-1)?.success !== true)) return null
  const words = rehearsals.flatMap((each) => each?.reads ?? [])
  const changes = [native, ...tokens].map((asset, index) => {
    const { before, after } = (index === 0 ? first.native : words[index - 1]) ?? { before: 0n, after: 0n }
    return { asset, change: after - before }
  })
  return { changes: changes.filter(({ change }) => change !== 0n), watched: words.slice(tokens.length) }
}

async function tryRehearse(
  client: RpcReader,
  wallet: string,
  call: Pick<DescribedCall, 'to' | 'data' | 'value'>,
  reads: readonly ContractCall[],
): Promise<Rehearsed | null> {
  try {
    return await rehearse(client, wallet, { steps: [call], reads })
  } catch (error) {
    // Not every node overrides code. The call itself was simulated without it.
    if (error instanceof BursarError) return null
    throw error
  }
}

/**
 * The tokens to hold: what the rehearsal takes, or what `transfer` and `transferFrom` state in their call data, whichever is
 * more.
 */
export function outflowsOf(
  { to, data }: Pick<DescribedCall, 'to' | 'data'>,
  wallet: string,
  tokens: readonly Asset[],
  rehearsed: RehearsedCall | null,
): readonly Outflow[] {
  const stated = statedAmount(data, wallet)
  return tokens.flatMap((asset) => {
    const change = rehearsed?.changes.find((each) => each.asset.assetId === asset.assetId)?.change ?? 0n
    const amount = largest(-change, asset.contract === to ? stated : 0n)
    if (amount <= 0n) return []
    const { assetId, symbol, decimals, contract } = asset
    return [{ asset: { assetId, symbol, decimals, contract }, amount }]
  })
}

/** `transfer(to, amount)` and `transferFrom(from, to, amount)` from the wallet. */
function statedAmount(data: string, wallet: string): bigint {
  const [, transferred] = /^0xa9059cbb[0-9a-f]{64}([0-9a-f]{64})/.exec(data) ?? []
  const [, from, moved] = /^0x23b872dd0{24}([0-9a-f]{40})[0-9a-f]{64}([0-9a-f]{64})/.exec(data) ?? []
  const amount = transferred ?? (from === wallet.slice(2).toLowerCase() ? moved : undefined)
  return amount === undefined ? 0n : BigInt(`0x${amount}`)
}
