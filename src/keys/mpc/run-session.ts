/**
 * One party's side of a session: several ceremonies of the engine side by side, in step with the other parties, one message
 * to each of them in a round. An item that fails is given up alone; the others go on.
 */
import type { EngineCall, EngineResult } from './engine-calls.ts'
import type { EngineThread } from './engine-thread.ts'
import type { Step } from './engine-wire.ts'
import { decodePayloads, encodePayloads, type Payloads } from './payloads.ts'
import type { ItemOutcome, Refusal } from './protocol.ts'
import { type RoundTable, Stalled } from './round-table.ts'

/** How an item begins: a call that gives a `Step`, or not at all. */
export type Beginning = { readonly call: EngineCall } | { readonly refusal: Refusal }

export type SessionRun = {
  readonly engine: Pick<EngineThread, 'run'>
  readonly begin: readonly Beginning[]
  /** Those who take part beside this party. */
  readonly others: readonly number[]
  readonly table: RoundTable
  /**
   * Asked before the messages of a round leave, with the places of the items that have not failed.
   *
   * @returns in the same order, why an item must be given up now, or null
   */
  readonly beforeSending?: (round: number, places: readonly number[]) => Promise<readonly (Refusal | null)[]>
}

type Running = { readonly kind: 'running'; readonly session: number; readonly outgoing: Step['outgoing'] }
type Ending = { readonly kind: 'done'; readonly result: Uint8Array; readonly outgoing: Step['outgoing'] }
type Item = Running | Ending | { readonly kind: 'failed'; readonly refusal: Refusal; readonly told: boolean }

const NOTHING: Step['outgoing'] = new Map()

/** Runs a session to its end. Never rejects for what others do: that is in the outcome of each item. */
export async function runSession(run: SessionRun): Promise<readonly ItemOutcome[]> {
  const { table, others } = run
  let items = await beginAll(run)
  for (let round = 1; ; round += 1) {
    items = await withConsent(run, round, items)
    for (const [party, payloads] of outgoingOf(items, others)) table.send(round, party, encodePayloads(payloads))
    items = items.map((item) => (item.kind === 'failed' ? { ...item, told: true } : { ...item, outgoing: NOTHING }))
    if (!items.some(({ kind }) => kind === 'running')) return items.map(outcomeOf)
    items = await receive(run, round, items)
  }
}

async function beginAll({ engine, begin }: SessionRun): Promise<Item[]> {
  const results = [...(await engine.run(begin.flatMap((each) => ('call' in each ? [each.call] : []))))]
  return begin.map((each) =>
    'call' in each ? toItem(present(results.shift())) : { kind: 'failed', refusal: each.refusal, told: false },
  )
}

function toItem(result: EngineResult): Item {
  if (!result.ok) return { kind: 'failed', refusal: result.failure, told: false }
  const step = result.value as Step
  return step.kind === 'done' ? { ...step, kind: 'done' } : { ...step, kind: 'running' }
}

function outcomeOf(item: Item): ItemOutcome {
  if (item.kind === 'done') return { ok: true, result: item.result }
  if (item.kind === 'failed') return { ok: false, refusal: item.refusal }
  throw new TypeError('an item that runs has no outcome')
}

async function withConsent({ beforeSending, engine }: SessionRun, round: number, items: Item[]): Promise<Item[]> {
  if (beforeSending === undefined) return items
  const places = items.flatMap((item, index) => (item.kind === 'failed' ? [] : [index]))
  if (places.length === 0) return items
  const answers = await beforeSending(round, places)
  const refused = new Map(places.map((place, index) => [place, answers[index] ?? null]))
  await endSessions(
    engine,
    items.filter((_, index) => refused.get(index)),
  )
  return items.map((item, index) => {
    const refusal = refused.get(index)
    return refusal ? { kind: 'failed', refusal, told: false } : item
  })
}

/** To whom something is to be said in this round: a message, or that an item is given up. */
function outgoingOf(items: readonly Item[], others: readonly number[]): Map<number, Payloads> {
  const failedNow = items.some((item) => item.kind === 'failed' && !item.told)
  const payloads = others.map((party): [number, Payloads] => [
    party,
    items.map((item) => (item.kind === 'failed' ? null : (item.outgoing.get(party) ?? null))),
  ])
  return new Map(payloads.filter(([, each]) => failedNow || each.some((payload) => payload !== null)))
}

async function receive({ engine, table, others }: SessionRun, round: number, items: Item[]): Promise<Item[]> {
  let incoming: ReadonlyMap<number, Uint8Array>
  try {
    incoming = await table.gather(round)
  } catch (error) {
    if (!(error instanceof Stalled)) throw error
    const refusal: Refusal = { kind: 'stalled', party: error.party, reason: error.message }
    await endSessions(engine, items)
    return items.map((item) => (item.kind === 'running' ? { kind: 'failed', refusal, told: false } : item))
  }
  const said = new Map(others.map((party) => [party, decodePayloads(incoming.get(party) ?? EMPTY, items.length)]))
  const heard = items.map((item, index) => hear(item, index, said))
  await endSessions(
    engine,
    items.filter((item, index) => item.kind === 'running' && heard[index]?.kind === 'failed'),
  )
  const calls = heard.flatMap((item, index): EngineCall[] =>
    item.kind === 'running' ? [{ name: 'advance', with: [item.session, messagesFor(index, said)] }] : [],
  )
  const results = [...(await engine.run(calls))]
  return heard.map((item) => (item.kind === 'running' ? toItem(present(results.shift())) : item))
}

const EMPTY = new Uint8Array()

/** An item that another party gave up, or spoke of in a way that cannot be read, cannot go on. */
function hear(item: Item, index: number, said: ReadonlyMap<number, Payloads | undefined>): Item {
  if (item.kind !== 'running') return item
  for (const [party, payloads] of said) {
    if (payloads === undefined) {
      return { kind: 'failed', refusal: { kind: 'refused', party, reason: 'its message cannot be read' }, told: false }
    }
    if (payloads[index] === null) {
      return { kind: 'failed', refusal: { kind: 'given_up', party, reason: 'it gave this up' }, told: false }
    }
  }
  return item
}

function messagesFor(index: number, said: ReadonlyMap<number, Payloads | undefined>): Map<number, Uint8Array> {
  return new Map([...said].map(([party, payloads]) => [party, payloads?.[index] ?? EMPTY]))
}

async function endSessions(engine: SessionRun['engine'], items: readonly Item[]): Promise<void> {
  const calls = items.flatMap((item): EngineCall[] =>
    item.kind === 'running' ? [{ name: 'end', with: [item.session] }] : [],
  )
  if (calls.length > 0) await engine.run(calls)
}

function present(result: EngineResult | undefined): EngineResult {
  if (result === undefined) throw new TypeError('the engine answered fewer calls than it was asked')
  return result
}
