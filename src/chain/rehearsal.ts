/**
 * Makes calls as a wallet without sending them: what each returns, and what the wallet gains and loses. The code of
 * Rehearsal.sol runs at the address of the wallet, in one `eth_call` with a state override (geth's third parameter).
 *
 * During a rehearsal the wallet has code, so a contract that refuses contracts as callers refuses it. What a plain
 * `eth_call` of a single call returns is more exact.
 */
import { readFileSync } from 'node:fs'
import { Interface, type Result } from 'ethers/abi'
import { encodeBalanceOf } from './erc20.ts'
import { MAX_EXECUTION_GAS } from './forks.ts'
import { readData, toQuantity } from './hex.ts'
import { type RpcReader, rpcCall } from './json-rpc.ts'
import { type BlockTag, blockParam, type ContractCall } from './multicall.ts'

/** Their gas is reserved for reading them after the steps. */
const MAX_REHEARSAL_READS = 32

export type RehearsalStep = {
  readonly to: string
  /** Wei. */
  readonly value: bigint
  /** Call data, `0x` and hex digits. */
  readonly data: string
}

export type StepOutcome = {
  readonly success: boolean
  /** Gas of the execution, without the 21,000 of a transaction and the cost of its call data. */
  readonly gas: bigint
  /** Return or revert data: its first 16 KiB. */
  readonly data: string
  /** Bytes of all of it. */
  readonly size: number
}

/** A number before the first step and after the last one that was tried. */
export type RehearsedChange = { readonly before: bigint; readonly after: bigint }

export type Rehearsed = {
  /** The steps that were tried: all of them, or those up to the first that failed. */
  readonly steps: readonly StepOutcome[]
  /** The balance of the native currency, wei. Gas is not paid for. */
  readonly native: RehearsedChange
  /** For each read, in order; `null` if the contract returned no word. */
  readonly reads: readonly (RehearsedChange | null)[]
}

const { abi, deployedBytecode: REHEARSAL_CODE } = readArtefact()
const REHEARSAL = new Interface(abi)

/**
 * Makes the steps in order as the wallet, and reads words before and after, such as balances.
 *
 * @param reads view functions that return one word; at most `MAX_REHEARSAL_READS`
 * @throws Unavailable when no node answered, ChainRefused when the node refuses such a call
 */
export async function rehearse(
  client: RpcReader,
  wallet: string,
  { steps, reads = [] }: { readonly steps: readonly RehearsalStep[]; readonly reads?: readonly ContractCall[] },
  tag: BlockTag = 'latest',
): Promise<Rehearsed> {
  if (reads.length > MAX_REHEARSAL_READS) throw new RangeError(`a rehearsal reads at most ${MAX_REHEARSAL_READS} words`)
  const data = REHEARSAL.encodeFunctionData('rehearse', [
    steps.map(({ to, value, data: input }) => [to, value, input]),
    reads.map(({ target, data: input }) => [target, input]),
  ])
  const call = { from: wallet, to: wallet, data, gas: toQuantity(MAX_EXECUTION_GAS) }
  const answer = await rpcCall(client, 'eth_call', [call, blockParam(tag), { [wallet]: { code: REHEARSAL_CODE } }])
  const [outcomes, changes] = REHEARSAL.decodeFunctionResult('rehearse', readData(answer, 'the answer to eth_call'))
  const [native, ...words] = (changes as Result[]).map(toChange)
  if (native == null) throw new Error('a rehearsal must know the balance of the wallet')
  return { steps: (outcomes as Result[]).map(toOutcome), native, reads: words }
}

/** What the wallet gains of each asset, base units; negative for a loss, `null` where a token returned no balance. */
export type RehearsedChanges = Pick<Rehearsed, 'steps'> & { readonly changes: readonly (bigint | null)[] }

/** @param assets contracts of tokens, at most `MAX_REHEARSAL_READS`; `null` for the native currency. @throws as `rehearse` */
export async function rehearseChanges(
  client: RpcReader,
  wallet: string,
  { steps, assets }: { readonly steps: readonly RehearsalStep[]; readonly assets: readonly (string | null)[] },
  tag: BlockTag,
): Promise<RehearsedChanges> {
  const reads = assets.flatMap((token) => (token === null ? [] : [balanceRead(token, wallet)]))
  const rehearsed = await rehearse(client, wallet, { steps, reads }, tag)
  const words = rehearsed.reads.values()
  const changes = assets.map((token) => {
    const change = token === null ? rehearsed.native : (words.next().value ?? null)
    return change === null ? null : change.after - change.before
  })
  return { steps: rehearsed.steps, changes }
}

/** A read of the wallet's balance of an ERC-20 token. */
export function balanceRead(token: string, wallet: string): ContractCall {
  return { target: token, data: encodeBalanceOf(wallet) }
}

function toOutcome([success, gas, size, data]: Result): StepOutcome {
  return { success: success as boolean, gas: gas as bigint, size: Number(size as bigint), data: data as string }
}

function toChange([known, before, after]: Result): RehearsedChange | null {
  return known === true ? { before: before as bigint, after: after as bigint } : null
}

function readArtefact(): {
  readonly abi: ConstructorParameters<typeof Interface>[0]
  readonly deployedBytecode: string
} {
  const file = new URL('../contracts/artifacts/Rehearsal.json', import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8'))
}
