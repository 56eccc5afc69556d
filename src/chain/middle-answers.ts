/**
 * Figures that honest nodes may compute in different ways: where no quorum says the same, the middle one of at least a quorum.
 * One of three moves it no further than to what another one says; one of two only to the side that costs nothing.
 */
import type { RpcResult } from './json-rpc.ts'
import { classifyCallFailure } from './rpc-errors.ts'

type Votes = { readonly heard: readonly RpcResult[]; readonly needed: number }

/** @returns `null` for what must be said alike, or where less than a quorum gives a figure */
export function decidedByRank(method: string, { heard, needed }: Votes): RpcResult | null {
  const values = heard.flatMap((one) => (one.ok ? [one.value] : []))
  const middle = MIDDLE[method]
  if (middle !== undefined) {
    const value = values.length < needed ? null : middle(values, needed)
    return value === null ? null : { ok: true, value }
  }
  // Calls are rehearsed in another way where a part of the nodes lacks this one.
  if (method !== 'eth_simulateV1') return null
  const lacksIt = (one: RpcResult) => !one.ok && classifyCallFailure(one.error).type === 'unsupported'
  return heard.find(lacksIt) ?? null
}

type Middle = (values: readonly unknown[], needed: number) => unknown

const MIDDLE: Readonly<Record<string, Middle>> = {
  // Too little fails what is sent, too much is given back.
  eth_estimateGas: (values, needed) => ofQuantities(values, needed, (count) => Math.floor(count / 2)),
  // A fee that is too high is lost, one that is too low is raised.
  eth_gasPrice: lower,
  eth_feeHistory: ofHistories,
}

function lower(values: readonly unknown[], needed: number): string | null {
  return ofQuantities(values, needed, (count) => Math.floor((count - 1) / 2))
}

function ofQuantities(values: readonly unknown[], needed: number, place: (count: number) => number): string | null {
  const read = values.filter((value) => typeof value === 'string' && /^0x[0-9a-f]{1,64}$/i.test(value)) as string[]
  if (read.length < needed) return null
  return read.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))[place(read.length)] ?? null
}

type History = { readonly baseFeePerGas: readonly unknown[]; readonly gasUsedRatio: unknown; readonly reward: Rows }
type Rows = readonly (readonly unknown[])[]

/** Of those with the most common shape: each figure by itself. */
function ofHistories(values: readonly unknown[], needed: number): unknown {
  const shapeOf = ({ baseFeePerGas, gasUsedRatio, reward }: History) =>
    JSON.stringify([baseFeePerGas.length, gasUsedRatio, reward.map(({ length }) => length)])
  const histories = values.filter(isHistory)
  const alike = histories
    .map((one) => histories.filter((other) => shapeOf(other) === shapeOf(one)))
    .find((group) => group.length >= needed)
  const [first] = alike ?? []
  if (alike === undefined || first === undefined) return null
  const middleOf = (figure: (history: History) => unknown) => lower(alike.map(figure), needed)
  return {
    baseFeePerGas: first.baseFeePerGas.map((_, i) => middleOf((one) => one.baseFeePerGas[i])),
    gasUsedRatio: first.gasUsedRatio,
    reward: first.reward.map((row, i) => row.map((_, k) => middleOf((one) => one.reward[i]?.[k]))),
  }
}

function isHistory(value: unknown): value is History {
  const { baseFeePerGas, reward } = value as Readonly<Record<string, unknown>>
  return Array.isArray(baseFeePerGas) && Array.isArray(reward) && reward.every(Array.isArray)
}
