/**
 * Makes calls as a wallet without sending them, as transactions of one block (`eth_simulateV1`): the wallet is what it is
 * on chain, also for a contract that looks at the code of its caller. Views are read before and after, in the same block.
 */
import { DATA_BYTE_GAS, GAS_BOUNDS, INTRINSIC_GAS, MAX_EXECUTION_GAS } from './forks.ts'
import { addressWord, malformed, readData, readQuantity, toQuantity, wordAt } from './hex.ts'
import { type RpcReader, rpcCall } from './json-rpc.ts'
import { type BlockTag, blockParam, type ContractCall } from './multicall.ts'
import type { RehearsalStep, Rehearsed, RehearsedChange, StepOutcome } from './rehearsed.ts'

/** Of return data: a contract can return megabytes. */
const MAX_DATA_BYTES = 16_384

/** An account without a use, at which the simulation puts code that returns the balance of the address in its input. */
const BALANCE_READER = '0x00000000000000000000000000000000ba1a4ce5'
const READ_BALANCE = '0x6000353160005260206000f3'

type Steps = { readonly steps: readonly RehearsalStep[]; readonly reads: readonly ContractCall[] }

/** One call of the simulated block. */
type SimulatedCall = { readonly success: boolean; readonly data: string; readonly gasUsed: bigint }

/** Steps after the first that fails are not made. @throws Unavailable; ChainRefused where the node has no such method */
export async function simulateCalls(
  client: RpcReader,
  wallet: string,
  { steps, reads }: Steps,
  tag: BlockTag,
): Promise<Rehearsed> {
  const views = [{ target: BALANCE_READER, data: `0x${addressWord(wallet)}` }, ...reads]
  const made = await simulateBlock(client, wallet, { steps, reads: views }, tag)
  const tried = made.slice(views.length, views.length + steps.length)
  const failed = tried.findIndex(({ success }) => !success)
  if (failed >= 0 && failed < steps.length - 1)
    return simulateCalls(client, wallet, { steps: steps.slice(0, failed + 1), reads }, tag)
  const after = made.slice(views.length + steps.length)
  const [native, ...words] = views.map((_, i) => toChange(made[i], after[i]))
  if (native == null) throw new Error('a simulation must know the balance of the wallet')
  return {
    steps: tried.map((call, i) => toOutcome(call, steps[i]?.data ?? '0x')),
    native,
    reads: words,
    hasCode: false,
  }
}

async function simulateBlock(client: RpcReader, wallet: string, { steps, reads }: Steps, tag: BlockTag) {
  const views = reads.map(({ target, data }) => ({
    from: wallet,
    to: target,
    input: data,
    gas: toQuantity(GAS_BOUNDS.simulatedRead + INTRINSIC_GAS),
  }))
  const sent = steps.map(({ to, value, data }) => ({
    from: wallet,
    to,
    value: toQuantity(value),
    input: data,
    gas: toQuantity(MAX_EXECUTION_GAS),
  }))
  const block = {
    blockOverrides: { gasLimit: toQuantity(GAS_BOUNDS.simulatedBlock) },
    stateOverrides: { [BALANCE_READER]: { code: READ_BALANCE } },
    calls: [...views, ...sent, ...views],
  }
  const payload = { blockStateCalls: [block], validation: false, traceTransfers: false }
  const answer = await rpcCall(client, 'eth_simulateV1', [payload, blockParam(tag)])
  return readCalls(answer, block.calls.length)
}

function readCalls(answer: unknown, count: number): readonly SimulatedCall[] {
  const [block] = Array.isArray(answer) ? (answer as unknown[]) : []
  const calls = (block as { readonly calls?: unknown } | null | undefined)?.calls
  if (!Array.isArray(calls) || calls.length !== count) throw malformed('the answer to eth_simulateV1 has other calls')
  return calls.map((call) => {
    const { status, returnData, gasUsed } = (call ?? {}) as Readonly<Record<string, unknown>>
    return {
      success: readQuantity(status, 'the status of a simulated call') === 1n,
      data: readData(returnData, 'the return data of a simulated call'),
      gasUsed: readQuantity(gasUsed, 'the gas of a simulated call'),
    }
  })
}

function toOutcome({ success, data, gasUsed }: SimulatedCall, input: string): StepOutcome {
  const [outside, size] = [INTRINSIC_GAS + BigInt(input.length / 2 - 1) * DATA_BYTE_GAS, data.length / 2 - 1]
  return { success, gas: gasUsed > outside ? gasUsed - outside : 0n, data: data.slice(0, 2 + 2 * MAX_DATA_BYTES), size }
}

/** As a view that fails or returns no word: unknown. */
function toChange(before: SimulatedCall | undefined, after: SimulatedCall | undefined): RehearsedChange | null {
  const [first, last] = [before, after].map((call) => (call?.success ? wordAt(call.data, 0) : null))
  return first == null || last == null ? null : { before: first, after: last }
}
