/**
 * Balances of untrusted token contracts. Each `balanceOf` gets a fixed amount of gas, its answer is cut to one word,
 * and it cannot change what others read, so a contract affects only its own balances.
 */
import { readFileSync } from 'node:fs'
import { encodeBalanceOf } from './erc20.ts'
import { GAS_BOUNDS } from './forks.ts'
import { readData, toQuantity, uintWord, wordAt } from './hex.ts'
import { type RpcReader, type RpcRequest, type RpcResult, resultValue } from './json-rpc.ts'
import { type BlockTag, blockParam } from './multicall.ts'
import { classifyCallFailure, ranOutOfGas } from './rpc-errors.ts'

/** Reads in one call: with common tokens, some 3 M gas. */
const READS_PER_CALL = 100
/** A balance is 32 bytes. Padding is tolerated up to this size. */
export const MAX_ANSWER_BYTES = 1_024
/**
 * Time limit, ms, for rounds after the first: each settles at least the first read of each call, and a token that
 * misbehaved is not read again.
 */
const BUDGET_MS = 10_000

/** The code of TokenReads.sol, which is never deployed: it runs as the data of a call. Loaded once at process start. */
const READER_CODE = readCode()

export type TokenRead = { readonly token: string; readonly owner: string }

/**
 * `none`: the call reverted, there is no contract, or the answer is not a number. `gas`, `size`: it ran out of gas, or
 * returned more than a balance. `unread`: unknown, since no node answered in time.
 */
export type TokenReadFailure = 'none' | 'gas' | 'size' | 'unread'
export type TokenReadOutcome = { readonly balance: bigint } | { readonly failure: TokenReadFailure }

const UNREAD: TokenReadOutcome = { failure: 'unread' }

/**
 * Reads balances of tokens at a block, in the order of the reads. Stops after ten seconds; open reads are then
 * `unread`. After one read of a token ran out of gas or returned too much, the token is not read again.
 *
 * @throws ChainRefused when a node lacks the block's state
 */
export async function readTokens(
  client: RpcReader,
  reads: readonly TokenRead[],
  tag: BlockTag,
): Promise<TokenReadOutcome[]> {
  const outcomes = new Map<number, TokenReadOutcome>()
  const misbehaved = new Map<string, TokenReadOutcome>()
  const until = performance.now() + BUDGET_MS
  let open = reads.map((read, place) => ({ ...read, place }))
  while (open.length > 0 && performance.now() < until) {
    const answers = await readRound(client, open, blockParam(tag))
    for (const [i, { place, token }] of open.entries()) {
      const answer = answers[i] ?? null
      if (answer === null) continue
      outcomes.set(place, answer)
      if ('failure' in answer && (answer.failure === 'gas' || answer.failure === 'size')) misbehaved.set(token, answer)
    }
    open = open.filter(({ place, token }) => !outcomes.has(place) && !misbehaved.has(token))
  }
  return reads.map(({ token }, place) => outcomes.get(place) ?? misbehaved.get(token) ?? UNREAD)
}

/** @returns `null` for reads that the call had no gas left to try */
async function readRound(
  client: RpcReader,
  reads: readonly TokenRead[],
  block: unknown,
): Promise<(TokenReadOutcome | null)[]> {
  const chunks = Array.from({ length: Math.ceil(reads.length / READS_PER_CALL) }, (_, i) =>
    reads.slice(i * READS_PER_CALL, (i + 1) * READS_PER_CALL),
  )
  const results = await client.batch(chunks.map((chunk) => callOf(chunk, block)))
  const outcomes = chunks.map((chunk, i) => outcomesOf(results[i], chunk.length))
  // A node that refuses calls without an address gets each read separately.
  const refused = chunks.filter((_, i) => outcomes[i] === null).flat()
  const alone = new Map((await readAlone(client, refused, block)).map((outcome, i) => [refused[i], outcome]))
  return chunks.flatMap((chunk, i) => outcomes[i] ?? chunk.map((read) => alone.get(read) ?? UNREAD))
}

function callOf(reads: readonly TokenRead[], block: unknown): RpcRequest {
  const packed = reads.map(({ token, owner }) => (token.slice(2) + owner.slice(2)).toLowerCase()).join('')
  const data = READER_CODE + packed + uintWord(GAS_BOUNDS.tokenRead) + uintWord(BigInt(reads.length))
  return { method: 'eth_call', params: [{ data, gas: toQuantity(GAS_BOUNDS.manyReads) }, block] }
}

/** @returns `null` when the node refused the whole call */
function outcomesOf(result: RpcResult | undefined, count: number): (TokenReadOutcome | null)[] | null {
  if (result?.ok) {
    const data = readData(result.value, 'the answer to eth_call')
    return data.length === 2 + count * 128 ? Array.from({ length: count }, (_, i) => outcomeAt(data, i)) : null
  }
  if (result === undefined || result.error.kind === 'unavailable') return Array<TokenReadOutcome>(count).fill(UNREAD)
  if (classifyCallFailure(result.error).type === 'missing_state') resultValue(result, 'eth_call')
  return null
}

/** The two words that TokenReads.sol returns for a read. */
function outcomeAt(data: string, index: number): TokenReadOutcome | null {
  const [told, balance] = [wordAt(data, 2 * index) ?? 0n, wordAt(data, 2 * index + 1) ?? 0n]
  const [outcome, bytes, gas] = [told >> 248n, (told >> 64n) & 0xffffffffffffffffn, told & 0xffffffffffffffffn]
  if (outcome === 0n) return null
  if (outcome === 1n) return { failure: gas >= GAS_BOUNDS.tokenRead ? 'gas' : 'none' }
  if (bytes > MAX_ANSWER_BYTES) return { failure: 'size' }
  return bytes < 32n ? { failure: 'none' } : { balance }
}

async function readAlone(client: RpcReader, reads: readonly TokenRead[], block: unknown): Promise<TokenReadOutcome[]> {
  const results = await client.batch(
    reads.map(({ token, owner }) => cappedCall({ to: token, data: encodeBalanceOf(owner) }, block)),
  )
  return results.map((result) => {
    const answer = answerOf(result)
    if ('failure' in answer) return answer
    const balance = wordAt(answer.data, 0)
    return balance === null ? { failure: 'none' } : { balance }
  })
}

/** A call of an untrusted contract with a gas limit. */
export function cappedCall(call: { readonly to: string; readonly data: string }, block: unknown): RpcRequest {
  return { method: 'eth_call', params: [{ ...call, gas: toQuantity(GAS_BOUNDS.tokenRead) }, block] }
}

/**
 * The return data of a capped call, of bounded size.
 *
 * @throws ChainRefused when the node lacks the block's state
 */
export function answerOf(
  result: RpcResult | undefined,
): { readonly data: string } | { readonly failure: TokenReadFailure } {
  if (result?.ok) {
    const data = readData(result.value, 'the answer to eth_call')
    return data.length > 2 + 2 * MAX_ANSWER_BYTES ? { failure: 'size' } : { data }
  }
  if (result?.error.kind !== 'answer')
    return { failure: result?.error.kind === 'unavailable' && result.error.reason === 'too_large' ? 'size' : 'unread' }
  const { type } = classifyCallFailure(result.error)
  if (type === 'missing_state') resultValue(result, 'eth_call')
  if (type !== 'reverted') return { failure: 'unread' }
  return { failure: ranOutOfGas(result.error) ? 'gas' : 'none' }
}

function readCode(): string {
  const file = new URL('../contracts/artifacts/TokenReads.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly bytecode: string }).bytecode
}
