/**
 * Makes calls as a wallet without sending them: what each returns, and what the wallet gains and loses. Nodes that have
 * `eth_simulateV1` make them as transactions of the wallet.
 *
 * With other nodes the code of Rehearsal.sol runs at the address of the wallet, in one `eth_call` with a state override
 * (geth's third parameter). The wallet has code then: a contract that treats contracts differently from accounts does
 * something else than it would on chain, and nobody sees that.
 */
import { readFileSync } from 'node:fs'
import { Interface, type Result } from 'ethers/abi'
import { ChainRefused, Unavailable } from '../core/errors.ts'
import { encodeBalanceOf } from './erc20.ts'
import { MAX_EXECUTION_GAS } from './forks.ts'
import { readData, toQuantity } from './hex.ts'
import { type RpcReader, rpcCall } from './json-rpc.ts'
import { type BlockTag, blockParam, type ContractCall } from './multicall.ts'
import type { RehearsalStep, Rehearsed, RehearsedChange, StepOutcome } from './rehearsed.ts'
import { simulateCalls } from './simulate-calls.ts'

/** Their gas is reserved for reading them after the steps. */
const MAX_REHEARSAL_READS = 32

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
  try {
    return await simulateCalls(client, wallet, { steps, reads }, tag)
  } catch (error) {
    if (!isAnswered(error)) throw error
  }
  return rehearseWithCode(client, wallet, { steps, reads }, tag)
}

/**
 * Not by a node that is down. An answer that is too large is one that a contract can cause, and one without a failure
 * behind it was malformed.
 */
function isAnswered(error: unknown): boolean {
  if (error instanceof ChainRefused) return true
  if (!(error instanceof Unavailable)) return false
  return error.cause === undefined || (error.cause as { readonly reason?: unknown }).reason === 'too_large'
}

async function rehearseWithCode(
  client: RpcReader,
  wallet: string,
  { steps, reads }: { readonly steps: readonly RehearsalStep[]; readonly reads: readonly ContractCall[] },
  tag: BlockTag,
): Promise<Rehearsed> {
  const data = REHEARSAL.encodeFunctionData('rehearse', [
    steps.map(({ to, value, data: input }) => [to, value, input]),
    reads.map(({ target, data: input }) => [target, input]),
  ])
  const call = { from: wallet, to: wallet, data, gas: toQuantity(MAX_EXECUTION_GAS) }
  const answer = await rpcCall(client, 'eth_call', [call, blockParam(tag), { [wallet]: { code: REHEARSAL_CODE } }])
  const [outcomes, changes] = REHEARSAL.decodeFunctionResult('rehearse', readData(answer, 'the answer to eth_call'))
  const [native, ...words] = (changes as Result[]).map(toChange)
  if (native == null) throw new Error('a rehearsal must know the balance of the wallet')
  return { steps: (outcomes as Result[]).map(toOutcome), native, reads: words, hasCode: true }
}

/** What the wallet gains of each asset, base units; negative for a loss, `null` where a token returned no balance. */
export type RehearsedChanges = Pick<Rehearsed, 'steps' | 'hasCode'> & { readonly changes: readonly (bigint | null)[] }

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
  return { steps: rehearsed.steps, hasCode: rehearsed.hasCode, changes }
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
